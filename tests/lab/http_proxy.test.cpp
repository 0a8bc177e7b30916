// SPDX-License-Identifier: MIT
// The proxy of `triage chaos` between a hand-written client and server.
#include "triage/lab/http_proxy.hpp"

#include "lab/http/http_faults.hpp"
#include "lab/http/http_io.hpp"
#include "lab/http/http_message.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/socket.h>

using namespace triage;
using lab::Fault;
using lab::detail::HttpKind;
using lab::detail::Patience;
using lab::detail::Socket;

namespace {

const Patience patience{.timeout = std::chrono::seconds(20)};

// Gives every request the same answer and keeps the requests.
class Server {
 public:
  explicit Server(const std::string& body)
      : Server(As{"HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                  body}) {}
  // Sends exactly this answer.
  struct As {
    std::string answer{};
    bool breaks = false;  // With a reset instead of an end.
    bool waits = false;   // Does not end before this server does.
  };
  explicit Server(As as) : as_(std::move(as)) {
    listener_ = std::move(lab::detail::listen_locally(port_)).value();
    thread_ = std::thread([this] {
      while (!stop_.stop_requested()) {
        if (!lab::detail::wait_readable(listener_.get(), {patience.timeout, stop_.get_token()})) {
          continue;
        }
        Socket client(lab::detail::accept_from(listener_));
        const auto request = lab::detail::read_message(client, patience, HttpKind::request);
        if (!request) continue;
        {
          const std::scoped_lock lock(mutex_);
          requests_.push_back(request.value().bytes());
        }
        static_cast<void>(lab::detail::send_all(client, as_.answer, patience));
        if (as_.breaks) client.reset();
        if (as_.waits) waiting_.push_back(std::move(client));
      }
    });
  }
  ~Server() {
    stop_.request_stop();
    thread_.join();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  As as_;
  std::vector<Socket> waiting_{};
  int port_ = 0;
  Socket listener_{};
  mutable std::mutex mutex_{};
  std::vector<std::string> requests_{};
  std::stop_source stop_{};
  std::thread thread_{};
};

// Everything received until the connection ends.
std::string ask(const std::string& proxy, const std::string& request) {
  auto socket = lab::detail::connect_to("127.0.0.1", proxy.substr(proxy.rfind(':') + 1), patience);
  REQUIRE(socket);
  REQUIRE(lab::detail::send_all(socket.value(), request, patience));
  std::string all;
  for (;;) {
    const auto more = lab::detail::receive(socket.value(), patience);
    if (!more || more.value().empty()) return all;
    all += more.value();
  }
}

// One request through a proxy with one fault.
std::string through(const Server& server, lab::FaultRule rule, int times = 1) {
  const lab::Chaos chaos{{.rules = {std::move(rule)}}};
  const auto proxy = lab::HttpProxy::start(chaos).value();
  std::string answer;
  for (int i = 0; i < times; ++i) {
    answer = ask(proxy->url(), "POST " + server.url() +
                                   "/chat?k=1 HTTP/1.1\r\nHost: x\r\n"
                                   "Content-Length: 4\r\n\r\nbody");
  }
  return answer;
}

}  // namespace

TEST_CASE("a proxy without a fault changes nothing that matters", "[lab][proxy]") {
  const Server server("hello");
  CHECK_THAT(through(server, {.site = "elsewhere"}),
             ContainsSubstring("HTTP/1.1 200 OK") && Catch::Matchers::EndsWith("\r\n\r\nhello"));
  REQUIRE(server.requests().size() == 1);
  CHECK_THAT(server.requests().front(),
             Catch::Matchers::StartsWith("POST /chat?k=1 HTTP/1.1\r\n") &&
                 Catch::Matchers::EndsWith("\r\n\r\nbody"));
}

TEST_CASE("a proxy fails as services do, by type", "[lab][proxy]") {
  const Server server("hello");
  const std::string answer = through(server, {.types = {FailureType::access_denied}});
  CHECK_THAT(answer, ContainsSubstring("401 Unauthorized") && ContainsSubstring("\"message\""));
  CHECK(server.requests().empty());
  CHECK(through(server, {.fault = Fault::throws}).empty());
}

TEST_CASE("an answer breaks off although its length is promised", "[lab][proxy]") {
  const Server server(std::string(1000, 'x'));
  const std::string answer = through(server, {.fault = Fault::partial_value});
  CHECK_THAT(answer, ContainsSubstring("Content-Length: 1000"));
  CHECK(answer.size() < 1000 + answer.find("\r\n\r\n"));
}

TEST_CASE("a tool's name is changed where a model calls one", "[lab][proxy]") {
  const Server server(
      R"({"choices":[{"message":{"tool_calls":[{"function":{"name":"search","arguments":"{}"}}]}}]})");
  const std::string answer = through(server, {.fault = Fault::wrong_value});
  CHECK_THAT(answer, ContainsSubstring("\"name\":\"search_v2\""));
  const std::size_t head = answer.find("\r\n\r\n");
  CHECK_THAT(answer,
             ContainsSubstring("Content-Length: " + std::to_string(answer.size() - head - 4)));
  CHECK_THAT(through(server, {.fault = Fault::wrong_value, .value = "rm"}),
             ContainsSubstring("\"name\":\"rm\""));
  CHECK_THAT(through(Server("{\"name\":\"me\"}"), {.fault = Fault::wrong_value}),
             ContainsSubstring("{\"name\":\"me\"}"));
}

TEST_CASE("a request is delivered twice", "[lab][proxy]") {
  const Server server("hello");
  CHECK_THAT(through(server, {.fault = Fault::duplicate}), ContainsSubstring("hello"));
  CHECK(server.requests().size() == 2);
}

TEST_CASE("a base URL is a way in for programs that know no proxy", "[lab][proxy]") {
  const Server server("hello");
  const auto proxy = lab::HttpProxy::start(lab::Chaos(), {.upstream = server.url()}).value();
  CHECK_THAT(ask(proxy->url(), "GET /v1 HTTP/1.1\r\nHost: proxy\r\n\r\n"),
             ContainsSubstring("hello"));
  CHECK_THAT(server.requests().front(),
             ContainsSubstring("GET /v1 HTTP/1.1") && ContainsSubstring("Host: 127.0.0.1:"));
  CHECK(proxy->requests() == 1);
}

TEST_CASE("what is no request, and who is not there, get an answer that says so", "[lab][proxy]") {
  const auto proxy = lab::HttpProxy::start(lab::Chaos()).value();
  CHECK_THAT(ask(proxy->url(), "GET / HTTP/1.1\r\n\r\n"), ContainsSubstring("400 Bad Request"));
  CHECK_THAT(ask(proxy->url(), "GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n"),
             ContainsSubstring("502 Bad Gateway"));
  const auto wrong = lab::HttpProxy::start(lab::Chaos(), {.upstream = "ftp://x"});
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().detail, ContainsSubstring("allowed is http://HOST:PORT"));
}

TEST_CASE("a tool's name is changed in an answer that comes in chunks, too", "[lab][proxy]") {
  const Server server(Server::As{
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
      "10;x=y\r\n{\"name\":\"look\",\"\r\n9\r\ninput\":1}\r\n0\r\n\r\n"});
  CHECK_THAT(through(server, {.fault = Fault::wrong_value}),
             ContainsSubstring("HTTP/1.1 200 OK\r\n") &&
                 Catch::Matchers::EndsWith("\r\n\r\n{\"input\":1,\"name\":\"look_v2\"}"));
}

TEST_CASE("an answer that has a length but no body is not waited for", "[lab][proxy]") {
  const Server server(Server::As{"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n"});
  const auto proxy = lab::HttpProxy::start(lab::Chaos()).value();
  CHECK_THAT(ask(proxy->url(), "HEAD " + server.url() + "/ HTTP/1.1\r\nHost: x\r\n\r\n"),
             ContainsSubstring("200 OK") && ContainsSubstring("Content-Length: 99"));
}

TEST_CASE("who stops a proxy need not wait for a request that hangs in it", "[lab][proxy]") {
  const lab::Chaos chaos{{.rules = {{.fault = Fault::hang}}}};
  auto proxy = lab::HttpProxy::start(chaos).value();
  const std::string url = proxy->url();
  std::string answer = "none yet";
  std::thread client([&] { answer = ask(url, "GET http://127.0.0.1:1/ HTTP/1.1\r\n\r\n"); });
  while (proxy->requests() == 0) std::this_thread::yield();
  proxy.reset();
  client.join();
  CHECK(answer.empty());
}

TEST_CASE("an answer that is nested without end is passed on", "[lab][proxy]") {
  const std::string deep = "HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, '[');
  CHECK(lab::detail::with_other_tool(deep, {}) == deep);
}

TEST_CASE("a proxy keeps only answers that a later visit may want", "[lab][proxy]") {
  const lab::Chaos chaos{
      {.rules = {{.fault = Fault::stale_value, .site = "127.0.0.1", .at = {1}}}}};
  CHECK(chaos.meet({.name = "127.0.0.1"}).keeps_value);
  CHECK_FALSE(chaos.meet({.name = "elsewhere"}).keeps_value);
  // Of one place, since a place has no port.
  const Server old("old");
  const Server current("current");
  const auto proxy = lab::HttpProxy::start(chaos).value();
  const auto get = [&](const Server& server) {
    return ask(proxy->url(), "GET " + server.url() + "/ HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  chaos.disarm();
  CHECK_THAT(get(old), Catch::Matchers::EndsWith("old"));
  chaos.arm();
  CHECK_THAT(get(current), Catch::Matchers::EndsWith("current"));
}

TEST_CASE("a client that asks whether to send its body is told to go on", "[lab][proxy]") {
  const Server server("fine");
  const lab::Chaos chaos{lab::FaultMix{}};
  const auto proxy = lab::HttpProxy::start(chaos, {.upstream = server.url()}).value();
  const std::string url = proxy->url();
  auto socket = lab::detail::connect_to("127.0.0.1", url.substr(url.rfind(':') + 1), patience);
  REQUIRE(socket);
  REQUIRE(lab::detail::send_all(
      socket.value(),
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", patience));
  const Patience short_one{.timeout = std::chrono::seconds(5)};
  CHECK(lab::detail::receive(socket.value(), short_one).value() == "HTTP/1.1 100 Continue\r\n\r\n");
  REQUIRE(lab::detail::send_all(socket.value(), "body", patience));
  CHECK_THAT(lab::detail::receive(socket.value(), patience).value(), ContainsSubstring("200 OK"));
  CHECK_THAT(server.requests().at(0), ContainsSubstring("body"));
}

TEST_CASE("an answer that breaks off is not passed on as a whole one", "[lab][proxy]") {
  const std::string half = "HTTP/1.1 200 OK\r\n\r\nfirst half";
  const auto ask_one = [](const Server& server, Duration timeout) {
    const auto proxy =
        lab::HttpProxy::start(lab::Chaos(), {.upstream = server.url(), .timeout = timeout}).value();
    return ask(proxy->url(), "GET / HTTP/1.1\r\n\r\n");
  };
  const Server whole(Server::As{half});
  CHECK_THAT(ask_one(whole, patience.timeout), Catch::Matchers::EndsWith("first half"));
  const Server broken(Server::As{.answer = half, .breaks = true});
  CHECK_THAT(ask_one(broken, patience.timeout),
             ContainsSubstring("502 Bad Gateway") && ContainsSubstring("the connection broke"));
  const Server slow(Server::As{.answer = half, .waits = true});
  CHECK_THAT(ask_one(slow, std::chrono::milliseconds(200)),
             ContainsSubstring("504 Gateway Timeout") &&
                 ContainsSubstring("the answer of 127.0.0.1: nothing came for 200ms"));
}

TEST_CASE("a request that cannot be passed on is answered with the reason, and counted",
          "[lab][proxy]") {
  const Server server("hello");
  const auto proxy = lab::HttpProxy::start(lab::Chaos(), {.upstream = server.url()}).value();
  const auto post = [&](const std::string& rest) {
    return ask(proxy->url(), "POST / HTTP/1.1\r\n" + rest);
  };
  CHECK_THAT(post("Content-Length: 73400320\r\n\r\n" + std::string(1U << 20U, 'x')),
             ContainsSubstring("413 Content Too Large") && ContainsSubstring("64 MB"));
  CHECK_THAT(post("Transfer-Encoding: chunked\r\n\r\n7000000\r\n"),
             ContainsSubstring("413 Content Too Large"));
  CHECK_THAT(post("Content-Length: many\r\n\r\n"),
             ContainsSubstring("400 Bad Request") &&
                 ContainsSubstring("the length of the body is \"many\""));
  CHECK_THAT(ask(proxy->url(), "hello\r\n\r\n"), ContainsSubstring("this is not HTTP/1.1"));
  CHECK(proxy->refused() == 4);
  CHECK(proxy->requests() == 0);
  CHECK(server.requests().empty());
}

TEST_CASE("what an upstream still sends reaches a client that has ended its own sending",
          "[lab][proxy]") {
  int port = 0;
  const Socket listener = lab::detail::listen_locally(port).value();
  std::thread server([&] {
    if (!lab::detail::wait_readable(listener.get(), patience)) return;
    const Socket client(lab::detail::accept_from(listener));
    std::string all;
    for (;;) {
      const auto more = lab::detail::receive(client, patience);
      if (!more || more.value().empty()) break;
      all += more.value();
    }
    static_cast<void>(lab::detail::send_all(client, "got " + all, patience));
  });
  const auto proxy = lab::HttpProxy::start(lab::Chaos()).value();
  const std::string url = proxy->url();
  auto socket = lab::detail::connect_to("127.0.0.1", url.substr(url.rfind(':') + 1), patience);
  REQUIRE(socket);
  const std::string connect = "CONNECT 127.0.0.1:" + std::to_string(port) + " HTTP/1.1\r\n\r\n";
  REQUIRE(lab::detail::send_all(socket.value(), connect, patience));
  CHECK_THAT(lab::detail::receive(socket.value(), patience).value(), ContainsSubstring("200"));
  REQUIRE(lab::detail::send_all(socket.value(), "all of it", patience));
  ::shutdown(socket.value().get(), SHUT_WR);
  CHECK(lab::detail::receive(socket.value(), patience).value() == "got all of it");
  server.join();
}

TEST_CASE("an https connection meets no fault of what it carries", "[lab][proxy]") {
  const lab::Chaos chaos{{.rules = {{.fault = Fault::wrong_value}, {.fault = Fault::fails}}}};
  const auto proxy = lab::HttpProxy::start(chaos).value();
  CHECK_THAT(ask(proxy->url(), "CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n"),
             ContainsSubstring("503") || ContainsSubstring("429"));
  REQUIRE(chaos.injected_count() == 1);
  CHECK(chaos.injected()[0].fault == Fault::fails);
  CHECK(proxy->unchanged() == 0);
}

TEST_CASE("faults that found nothing to change are counted", "[lab][proxy]") {
  const Server server("hello");
  const lab::Chaos chaos{{.rules = {{.fault = Fault::wrong_value}}}};
  const auto proxy = lab::HttpProxy::start(chaos, {.upstream = server.url()}).value();
  CHECK_THAT(ask(proxy->url(), "GET / HTTP/1.1\r\n\r\n"), ContainsSubstring("hello"));
  CHECK(chaos.injected_count() == 1);
  CHECK(proxy->unchanged() == 1);
}
