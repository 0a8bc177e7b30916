// SPDX-License-Identifier: MIT
#include "faulty_site.hpp"

#include "triage/clock.hpp"

#include <httplib.h>
#include <nlohmann/json.hpp>

#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace site {
namespace {

using Json = nlohmann::json;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr long planned_requests = 20'000;  // As far as the oracle sees.
constexpr std::array<std::pair<const char*, const char*>, 3> tools{{
    {"fetch", "Input: url. Output: the page's HTML."},
    {"extract_links", "Input: html. Output: links, the paths that the page links to."},
    {"count_words", "Input: html. Output: words, how many there are outside of tags."},
}};

}  // namespace

std::string_view to_string(Fault fault) noexcept {
  switch (fault) {
    case Fault::none: return "none";
    case Fault::overloaded: return "overloaded";
    case Fault::rate_limited: return "rate_limited";
    case Fault::reset: return "reset";
    case Fault::truncated: return "truncated";
    case Fault::renamed: return "renamed";
  }
  return "";
}

PlannedFault planned_fault(std::uint64_t seed, long request, double rate) {
  if (seed == 0) return {};
  // Its own little sequence for every request: the plan does not depend on what was asked before.
  const auto random = triage::seeded_random(
      seed * 0x9E3779B97F4A7C15U + static_cast<std::uint64_t>(request) * 0xD1B54A32D192ED03U);
  if (triage::unit_interval(random->next()) >= rate) return {};
  constexpr std::array kinds{Fault::overloaded,   Fault::overloaded, Fault::rate_limited,
                             Fault::rate_limited, Fault::reset,      Fault::reset,
                             Fault::truncated,    Fault::truncated,  Fault::renamed};
  PlannedFault planned{.fault = kinds[random->next() % kinds.size()]};
  if (planned.fault == Fault::overloaded || planned.fault == Fault::rate_limited) {
    planned.lasts = std::chrono::milliseconds(20 + random->next() % 40);
  }
  return planned;
}

struct FaultySite::Server {
  Pages pages{};
  std::uint64_t seed = 0;
  double rate = 0.0;
  int port = 0;
  httplib::Server http{};
  std::thread thread{};

  std::mutex mutex{};  // Guards everything below.
  long requests = 0;
  std::condition_variable page_sent{};
  std::map<std::string, int> sent{};
  int total_sent = 0;
  std::map<std::string, int> faults{};
  std::array<int, tools.size()> versions{1, 1, 1};
  SteadyTime closed_until{};
  Fault closed_by = Fault::none;

  std::string name(std::size_t tool) const {
    return versions[tool] == 1 ? tools[tool].first
                               : tools[tool].first + ("_v" + std::to_string(versions[tool]));
  }
  Fault next_fault();
  bool refuse(Fault fault, httplib::Response& response);
  void answer(const httplib::Request& request, httplib::Response& response);
  void call(std::size_t tool, Fault fault, const httplib::Request& request,
            httplib::Response& response);
  void send_page(const std::string& path, bool cut, httplib::Response& response);
  void send_json(const Json& value, Fault fault, httplib::Response& response);
  Json manifest();
  Json log();
  Json oracle();
};

// Counts the request and begins the fault that is planned for it.
Fault FaultySite::Server::next_fault() {
  const std::scoped_lock lock(mutex);
  const PlannedFault planned = planned_fault(seed, ++requests, rate);
  const SteadyTime now = std::chrono::steady_clock::now();
  if (planned.fault == Fault::renamed) {
    ++faults["renamed"];
    ++versions[static_cast<std::size_t>(requests) % versions.size()];
  }
  if (now < closed_until) return closed_by;
  if (planned.fault == Fault::none || planned.fault == Fault::renamed) return Fault::none;
  ++faults[std::string(to_string(planned.fault))];
  if (planned.lasts.count() > 0) {
    closed_until = now + planned.lasts;
    closed_by = planned.fault;
  }
  return planned.fault;
}

bool FaultySite::Server::refuse(Fault fault, httplib::Response& response) {
  if (fault == Fault::overloaded) {
    response.status = 503;
    response.set_content(R"({"error": "the service is temporarily unavailable"})",
                         "application/json");
    return true;
  }
  if (fault != Fault::rate_limited) return false;
  const std::scoped_lock lock(mutex);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      closed_until - std::chrono::steady_clock::now());
  response.status = 429;
  response.set_header("Retry-After", "0");  // In seconds, rounded down.
  response.set_header("Retry-After-Ms", std::to_string(std::max<long>(left.count(), 0) + 1));
  response.set_content(R"({"error": "too many requests"})", "application/json");
  return true;
}

void FaultySite::Server::answer(const httplib::Request& request, httplib::Response& response) {
  const Fault fault = next_fault();
  if (refuse(fault, response)) return;
  const std::string path = request.path;
  if (path == "/tools") return send_json(manifest(), fault, response);
  const std::string wanted = path.substr(std::string("/tools/").size());
  if (wanted == "_ping") return send_json(Json::object(), fault, response);
  std::optional<std::size_t> tool;
  {
    const std::scoped_lock lock(mutex);
    for (std::size_t i = 0; i < tools.size(); ++i) {
      if (wanted == name(i)) tool = i;
    }
  }
  if (tool) return call(*tool, fault, request, response);
  response.status = 404;
  const Json error{{"error", "unknown tool \"" + wanted + "\"; GET /tools lists the tools"}};
  response.set_content(error.dump(), "application/json");
}

void FaultySite::Server::call(std::size_t tool, Fault fault, const httplib::Request& request,
                              httplib::Response& response) {
  const Json input = Json::parse(request.body, nullptr, false);
  const bool object = input.is_object();
  if (tool == 0) {
    const std::string path = object ? input.value("url", std::string()) : std::string();
    if (pages.contains(path)) {
      send_page(path, fault == Fault::reset || fault == Fault::truncated, response);
      return;
    }
    response.status = 404;
    response.set_content(Json{{"error", "no page \"" + path + "\""}}.dump(), "application/json");
    return;
  }
  const std::string html = object ? input.value("html", std::string()) : std::string();
  send_json(tool == 1 ? Json{{"links", links_of(html)}} : Json{{"words", words_of(html)}}, fault,
            response);
}

void FaultySite::Server::send_page(const std::string& path, bool cut, httplib::Response& response) {
  const std::string& body = pages.at(path);
  const auto provide = [&body, cut](std::size_t offset, std::size_t length,
                                    httplib::DataSink& sink) {
    if (!cut) return sink.write(body.data() + offset, length);
    sink.write(body.data() + offset, length / 2);
    return false;  // The server closes the connection.
  };
  response.set_content_provider(body.size(), "text/html; charset=utf-8", provide,
                                [this, path](bool complete) {
                                  if (!complete) return;
                                  const std::scoped_lock lock(mutex);
                                  ++sent[path];
                                  ++total_sent;
                                  page_sent.notify_all();
                                });
}

void FaultySite::Server::send_json(const Json& value, Fault fault, httplib::Response& response) {
  std::string text = value.dump();
  if (fault == Fault::truncated) text.resize(text.size() / 2);
  if (fault != Fault::reset) {
    response.set_content(text, "application/json");
    return;
  }
  response.set_content_provider(text.size() + 1, "application/json",
                                [text](std::size_t, std::size_t, httplib::DataSink& sink) {
                                  sink.write(text.data(), text.size() / 2);
                                  return false;
                                });
}

Json FaultySite::Server::manifest() {
  const std::scoped_lock lock(mutex);
  Json list = Json::array();
  for (std::size_t i = 0; i < tools.size(); ++i) {
    list.push_back({{"name", name(i)}, {"description", tools[i].second}});
  }
  return {{"tools", std::move(list)}};
}

Json FaultySite::Server::log() {
  const std::scoped_lock lock(mutex);
  return {{"requests", requests}, {"pages", sent}, {"faults", faults}};
}

Json FaultySite::Server::oracle() {
  const std::scoped_lock lock(mutex);
  Json plan = Json::array();
  for (long request = requests + 1; request <= requests + planned_requests; ++request) {
    const PlannedFault planned = planned_fault(seed, request, rate);
    if (planned.fault == Fault::none) continue;
    plan.push_back({{"request", request},
                    {"kind", to_string(planned.fault)},
                    {"milliseconds", planned.lasts.count()}});
  }
  Json names = Json::array();
  for (std::size_t i = 0; i < tools.size(); ++i) names.push_back(name(i));
  return {{"next", requests + 1}, {"tools", std::move(names)}, {"faults", std::move(plan)}};
}

FaultySite::FaultySite(Pages pages, std::uint64_t seed, double rate, int port)
    : server_(std::make_unique<Server>()) {
  Server& s = *server_;
  s.pages = std::move(pages);
  s.seed = seed;
  s.rate = rate;
  s.http.new_task_queue = [] { return new httplib::ThreadPool(4); };
  s.http.set_keep_alive_max_count(1'000'000);
  s.http.set_tcp_nodelay(true);
  const auto answer = [&s](const httplib::Request& request, httplib::Response& response) {
    s.answer(request, response);
  };
  s.http.Get("/tools", answer);
  s.http.Get("/tools/_ping", answer);
  s.http.Post(R"(/tools/[\w-]+)", answer);
  s.http.Get("/_log", [&s](const httplib::Request&, httplib::Response& response) {
    response.set_content(s.log().dump(), "application/json");
  });
  s.http.Get("/_oracle", [&s](const httplib::Request&, httplib::Response& response) {
    response.set_content(s.oracle().dump(), "application/json");
  });
  const bool bound = port == 0 ? (s.port = s.http.bind_to_any_port("127.0.0.1")) > 0
                               : s.http.bind_to_port("127.0.0.1", s.port = port);
  if (!bound) {
    throw std::runtime_error("cannot listen on port " + std::to_string(port) + " of 127.0.0.1");
  }
  s.thread = std::thread([&s] { s.http.listen_after_bind(); });
}

FaultySite::~FaultySite() {
  while (!server_->http.is_running()) std::this_thread::yield();  // stop() before that is ignored.
  server_->http.stop();
  server_->thread.join();
}

std::string FaultySite::url() const { return "http://127.0.0.1:" + std::to_string(server_->port); }

std::map<std::string, int> FaultySite::sent() const {
  const std::scoped_lock lock(server_->mutex);
  return server_->sent;
}

int FaultySite::total_sent() const {
  const std::scoped_lock lock(server_->mutex);
  return server_->total_sent;
}

bool FaultySite::wait_until_sent(int total, std::chrono::milliseconds longest) const {
  std::unique_lock lock(server_->mutex);
  return server_->page_sent.wait_for(lock, longest, [&] { return server_->total_sent >= total; });
}

std::map<std::string, int> FaultySite::faults() const {
  const std::scoped_lock lock(server_->mutex);
  return server_->faults;
}

}  // namespace site
