// SPDX-License-Identifier: MIT
#include "triage/lab/http_proxy.hpp"

#include "lab/http/http_faults.hpp"
#include "lab/http/http_io.hpp"
#include "lab/http/http_message.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using detail::HttpMessage;
using detail::Socket;

struct Address {
  std::string host{};
  std::string port = "80";
};

// "HOST", "HOST:PORT" or "[ADDRESS]:PORT".
Address address_of(std::string authority, const char* port) {
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  Address address{.port = has_port ? authority.substr(colon + 1) : port};
  if (has_port) authority.resize(colon);
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  address.host = std::move(authority);
  return address;
}

// The target of a request.
struct Target {
  std::string method{};
  Address address{};
  std::string path{};  // Including the query.
  std::string version{};
};

constexpr std::string_view scheme = "http://";

std::optional<Target> target_of(const HttpMessage& request, const std::string& upstream) {
  const std::string& line = request.first_line;
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string::npos || first == last) return std::nullopt;
  Target target{.method = line.substr(0, first), .version = line.substr(last + 1)};
  std::string wanted = line.substr(first + 1, last - first - 1);
  if (target.method == "CONNECT") {
    target.address = address_of(std::move(wanted), "443");
    return target;
  }
  std::string authority = upstream.substr(std::min(upstream.size(), scheme.size()));
  if (wanted.starts_with(scheme)) {
    const std::size_t slash = std::min(wanted.find('/', scheme.size()), wanted.size());
    if (upstream.empty()) authority = wanted.substr(scheme.size(), slash - scheme.size());
    wanted = wanted.substr(slash);
  }
  if (authority.empty()) return std::nullopt;
  target.address = address_of(std::move(authority), "80");
  target.path = wanted.empty() ? "/" : std::move(wanted);
  return target;
}

}  // namespace

struct HttpProxy::Parts {
  Chaos chaos;
  HttpProxyOptions options;
  Socket listener{};
  int port = 0;
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> unchanged{0};
  std::mutex mutex{};
  std::condition_variable idle{};
  int connections = 0;
  std::map<std::string, std::string> answers{};  // The newest of each place that may want it.
  std::stop_source stop{};
  std::thread thread{};

  [[nodiscard]] detail::Patience patience() const {
    return {.timeout = options.timeout, .stop = stop.get_token()};
  }
  void listen();
  void serve(Socket client);
  void tunnel_to(const Target& target, Socket& client);
  [[nodiscard]] Result<std::string> forward(const Target& target, const HttpMessage& request);
  // If the client has gone, the answer is dropped.
  void give(const Socket& client, const std::string& answer) const {
    static_cast<void>(detail::send_all(client, answer, patience()));
  }
  void refuse(const Socket& client, const Error& why);
  // False: the client receives nothing more.
  bool meet(const Chaos::Met& met, Socket& client);
  [[nodiscard]] std::string changed(const Chaos::Met& met, const std::string& place,
                                    std::string answer);
};

void HttpProxy::Parts::listen() {
  const detail::Patience glance{.timeout = std::chrono::seconds(1), .stop = stop.get_token()};
  while (!stop.stop_requested()) {
    if (!detail::wait_readable(listener.get(), glance)) continue;
    Socket client(detail::accept_from(listener));
    if (client.get() < 0) continue;
    {
      const std::scoped_lock lock(mutex);
      ++connections;
    }
    const auto ended = [this] {
      const std::scoped_lock lock(mutex);
      --connections;
      idle.notify_all();
    };
    try {
      std::thread([this, ended, client = std::move(client)]() mutable {
        try {
          serve(std::move(client));
        } catch (...) {
          // Most likely out of memory: this connection ends, the others continue.
        }
        ended();
      }).detach();
    } catch (const std::system_error&) {
      ended();  // Out of threads: the client finds the connection closed.
    }
  }
}

bool HttpProxy::Parts::meet(const Chaos::Met& met, Socket& client) {
  const auto rest = [&](Duration length) {
    return detail::wait_gone(client, {.timeout = length, .stop = stop.get_token()});
  };
  if (met.delay && rest(met.delay->length)) return false;
  if (!met.fault) return true;
  switch (met.fault->fault) {
    case Fault::fails:
      give(client, detail::failure_answer(met.fault->type, met.fault->draw));
      return false;
    case Fault::hang:
      rest(met.fault->length == Duration::zero() ? std::chrono::hours(1) : met.fault->length);
      return false;
    case Fault::kill: chaos.kill(); [[fallthrough]];
    case Fault::throws: client.reset(); return false;
    default: return true;
  }
}

void HttpProxy::Parts::tunnel_to(const Target& target, Socket& client) {
  auto server = detail::connect_to(target.address.host, target.address.port, patience());
  if (!server) {
    give(client, detail::plain_answer("502 Bad Gateway", server.error().detail));
    return;
  }
  if (!detail::send_all(client, "HTTP/1.1 200 Connection established\r\n\r\n", patience())) return;
  detail::tunnel(client, server.value(), patience());
}

Result<std::string> HttpProxy::Parts::forward(const Target& target, const HttpMessage& request) {
  auto server = detail::connect_to(target.address.host, target.address.port, patience());
  if (!server) return std::move(server).error();
  HttpMessage sent = request;
  sent.first_line = target.method + " " + target.path + " " + target.version;
  for (const char* name : {"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authorization"}) {
    sent.remove_header(name);
  }
  sent.remove_header("Expect");           // The body has already arrived.
  sent.remove_header("Accept-Encoding");  // Answers are inspected.
  if (!options.upstream.empty()) {
    sent.set_header("Host", options.upstream.substr(scheme.size()));
  }
  sent.set_header("Connection", "close");
  if (!detail::send_all(server.value(), sent.bytes(), patience())) {
    return Error{Errc::io, target.address.host + " takes no request"};
  }
  auto answer = detail::read_message(
      server.value(), patience(),
      target.method == "HEAD" ? detail::HttpKind::bare_answer : detail::HttpKind::answer);
  if (!answer) {
    Error error = std::move(answer).error();
    error.detail.insert(0, "the answer of " + target.address.host + ": ");
    return error;
  }
  answer.value().remove_header("Keep-Alive");
  answer.value().set_header("Connection", "close");
  return outcome::success(answer.value().bytes());
}

std::string HttpProxy::Parts::changed(const Chaos::Met& met, const std::string& place,
                                      std::string answer) {
  std::string before;
  if (met.keeps_value) {
    const std::scoped_lock lock(mutex);
    before = std::exchange(answers[place], answer);
  }
  if (!met.fault) return answer;
  const Injection& fault = *met.fault;
  std::string other;
  switch (fault.fault) {
    case Fault::stale_value: other = std::move(before); break;
    case Fault::partial_value: other = detail::cut_answer(answer, fault.draw); break;
    case Fault::wrong_value: other = detail::with_other_tool(answer, fault.value); break;
    default: return answer;
  }
  if (!other.empty() && other != answer) return other;
  unchanged.fetch_add(1, std::memory_order_relaxed);
  return answer;
}

void HttpProxy::Parts::refuse(const Socket& client, const Error& why) {
  const bool large = why.code == Errc::exhausted;
  if (!large && why.code != Errc::invalid_argument) return;  // The client has gone.
  refused.fetch_add(1, std::memory_order_relaxed);
  give(client, detail::plain_answer(large ? "413 Content Too Large" : "400 Bad Request",
                                    "the request: " + why.detail));
  detail::end_kindly(client, patience());
}

void HttpProxy::Parts::serve(Socket client) {
  const auto request = detail::read_message(client, patience(), detail::HttpKind::request);
  if (!request) return refuse(client, request.error());
  const auto target = target_of(request.value(), options.upstream);
  if (!target) return refuse(client, {Errc::invalid_argument, "it names no http:// URL"});
  requests.fetch_add(1, std::memory_order_relaxed);
  const bool tunnels = target->method == "CONNECT";
  const std::string tool =
      tunnels ? target->method
              : target->method + " " + target->path.substr(0, target->path.find('?'));
  const Site site{.name = target->address.host, .tool = tool};
  const Chaos::Met met = tunnels ? chaos.meet_opaque(site) : chaos.meet(site);
  if (!meet(met, client)) return;
  if (tunnels) return tunnel_to(*target, client);
  Result<std::string> answer = forward(*target, request.value());
  if (answer && met.fault && met.fault->fault == Fault::duplicate) {
    answer = forward(*target, request.value());
  }
  if (!answer) {
    const bool silent = answer.error().code == Errc::busy;
    give(client, detail::plain_answer(silent ? "504 Gateway Timeout" : "502 Bad Gateway",
                                      answer.error().detail));
    return;
  }
  give(client, changed(met, target->address.host + " " + tool, std::move(answer).value()));
}

HttpProxy::HttpProxy(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<HttpProxy>> HttpProxy::start(Chaos chaos, HttpProxyOptions options) {
  const std::string& upstream = options.upstream;
  while (options.upstream.ends_with('/')) options.upstream.pop_back();
  if (!upstream.empty() && (!upstream.starts_with(scheme) || upstream.size() == scheme.size() ||
                            upstream.find('/', scheme.size()) != std::string::npos)) {
    return Error{Errc::invalid_argument,
                 "the upstream is \"" + printable(upstream) + "\"; allowed is http://HOST:PORT"};
  }
  auto parts = std::unique_ptr<Parts>(new Parts{.chaos = std::move(chaos), .options = options});
  auto listener = detail::listen_locally(parts->port);
  if (!listener) return std::move(listener).error();
  parts->listener = std::move(listener).value();
  parts->thread = std::thread([one = parts.get()] { one->listen(); });
  return outcome::success(std::unique_ptr<HttpProxy>(new HttpProxy(std::move(parts))));
}

HttpProxy::~HttpProxy() {
  parts_->stop.request_stop();
  parts_->thread.join();
  std::unique_lock lock(parts_->mutex);
  parts_->idle.wait(lock, [this] { return parts_->connections == 0; });
}

std::string HttpProxy::url() const { return "http://127.0.0.1:" + std::to_string(parts_->port); }
std::uint64_t HttpProxy::requests() const noexcept { return parts_->requests.load(); }
std::uint64_t HttpProxy::refused() const noexcept { return parts_->refused.load(); }
std::uint64_t HttpProxy::unchanged() const noexcept { return parts_->unchanged.load(); }

}  // namespace triage::inline v0_1::lab
