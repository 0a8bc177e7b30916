// SPDX-License-Identifier: MIT
#include "service.hpp"

#include "ledger.hpp"
#include "triage/clock.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <array>
#include <csignal>
#include <mutex>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace payments {
namespace {

using Json = nlohmann::json;

constexpr double fault_rate = 0.3;

void die() { std::raise(SIGKILL); }

void answer(httplib::Response& response, int status, const Json& body) {
  response.status = status;
  response.set_content(body.dump(), "application/json");
}

// Half of an answer, then the connection is closed.
void break_off(httplib::Response& response) {
  response.set_content_provider(64, "application/json",
                                [](std::size_t, std::size_t, httplib::DataSink&) { return false; });
}

class Service {
 public:
  Service(const std::string& ledger, std::uint64_t seed) : ledger_(ledger), seed_(seed) {}

  void charge(const httplib::Request& request, httplib::Response& response) {
    act(request, response, "charged", [this](const Json& body, const auto& before_commit) {
      const auto receipt =
          ledger_.charge(body.at("reference"), body.at("cents"), body.at("fence"), before_commit);
      return receipt ? Json{{"receipt", *receipt}} : Json();
    });
  }

  void refund(const httplib::Request& request, httplib::Response& response) {
    act(request, response, "refunded", [this](const Json& body, const auto& before_commit) {
      return ledger_.refund(body.at("reference"), body.at("fence"), before_commit)
                 ? Json{{"refunded", true}}
                 : Json();
    });
  }

  void find(const httplib::Request& request, httplib::Response& response) {
    const std::scoped_lock lock(mutex_);
    const Json body = Json::parse(request.body);
    const auto receipt = ledger_.find(body.at("reference"), body.at("fence"));
    if (!receipt) return answer(response, 200, {{"charged", false}});
    answer(response, 200, {{"charged", true}, {"receipt", *receipt}});
  }

  void find_refund(const httplib::Request& request, httplib::Response& response) {
    const std::scoped_lock lock(mutex_);
    const Json body = Json::parse(request.body);
    answer(response, 200,
           {{"refunded", ledger_.find_refund(body.at("reference"), body.at("fence"))}});
  }

 private:
  // Does what was asked for under the next planned fault. `book` returns the answer, or null if it
  // comes too late; `done` names what a refusal says did not happen.
  template <class Book>
  void act(const httplib::Request& request, httplib::Response& response, const char* done,
           const Book& book) {
    const std::scoped_lock lock(mutex_);
    const Json body = Json::parse(request.body);
    const Fault fault = planned_fault(seed_, ledger_.next_request());
    if (fault == Fault::refuses) {
      return answer(response, 503, {{done, false}, {"error", "service unavailable"}});
    }
    if (fault == Fault::drops) return break_off(response);
    if (fault == Fault::dies_before) die();
    const Json booked = book(body, [fault] {
      if (fault == Fault::dies_during) die();
    });
    if (fault == Fault::dies_after) die();
    if (booked.is_null()) return answer(response, 409, {{done, false}, {"error", "too late"}});
    if (fault == Fault::forgets) return break_off(response);
    if (fault == Fault::fails_after) return answer(response, 500, {{"error", "internal error"}});
    answer(response, 200, booked);
  }

  std::mutex mutex_;
  Ledger ledger_;
  const std::uint64_t seed_;
};

}  // namespace

std::string_view to_string(Fault fault) noexcept {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::refuses: return "refuses";
    case Fault::drops: return "drops";
    case Fault::dies_before: return "dies_before";
    case Fault::dies_during: return "dies_during";
    case Fault::dies_after: return "dies_after";
    case Fault::forgets: return "forgets";
    case Fault::fails_after: return "fails_after";
  }
  return "";
}

Fault planned_fault(std::uint64_t seed, std::uint64_t request) noexcept {
  const auto random =
      triage::seeded_random(seed * 0x9E3779B97F4A7C15U + request * 0xD1B54A32D192ED03U);
  if (triage::unit_interval(random->next()) >= fault_rate) return Fault::none;
  constexpr std::array kinds{Fault::refuses,     Fault::drops,      Fault::dies_before,
                             Fault::dies_during, Fault::dies_after, Fault::forgets,
                             Fault::fails_after};
  return kinds[random->next() % kinds.size()];
}

int serve(const std::string& ledger, int port, std::uint64_t seed) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // It does not outlive its campaign.
  Service service(ledger, seed);
  httplib::Server server;
  server.Post("/charge",
              [&](const auto& request, auto& response) { service.charge(request, response); });
  server.Post("/find",
              [&](const auto& request, auto& response) { service.find(request, response); });
  server.Post("/refund",
              [&](const auto& request, auto& response) { service.refund(request, response); });
  server.Post("/find_refund",
              [&](const auto& request, auto& response) { service.find_refund(request, response); });
  server.set_tcp_nodelay(true);
  return server.listen("127.0.0.1", port) ? 0 : 1;
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = socket >= 0 && ::bind(socket, generic, size) == 0 &&
                     ::getsockname(socket, generic, &size) == 0;
  if (socket >= 0) ::close(socket);
  if (!bound) throw std::runtime_error("there is no free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace payments
