// SPDX-License-Identifier: MIT
// The Redis store over TLS, with a real server and certificates made by the openssl command.
#include "stores/lost_answers.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/redis_server.hpp"
#include "support/result.hpp"
#include "triage/stores/open_store.hpp"
#include "triage/stores/redis.hpp"
#include "triage/stores/redis_reference.hpp"

#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;

namespace {

using Words = std::vector<std::string>;

bool openssl(Words words) {
  words.insert(words.begin(), {"/usr/bin/env", "openssl"});
  return run_program(words).status == 0;
}

bool build_has_tls() {
  return RedisStore::open("rediss://127.0.0.1:1").error().code != Errc::unsupported;
}

// An authority, and what it certifies.
class Authority {
 public:
  Authority() {
    there_ = openssl({"req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=authority",
                      "-days", "2", "-keyout", key("ca"), "-out", certificate("ca")});
  }
  // subject: such as "IP:127.0.0.1".
  void certify(const std::string& name, const std::string& subject) {
    std::ofstream(folder_.file(name + ".extensions")) << "subjectAltName=" << subject << "\n";
    const std::string request = folder_.file(name + ".request");
    there_ = there_ &&
             openssl({"req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=" + name,
                      "-keyout", key(name), "-out", request}) &&
             openssl({"x509", "-req", "-in", request, "-CA", certificate("ca"), "-CAkey", key("ca"),
                      "-set_serial", "7", "-days", "2", "-extfile",
                      folder_.file(name + ".extensions"), "-out", certificate(name)});
  }
  [[nodiscard]] bool there() const noexcept { return there_; }
  [[nodiscard]] std::string ca() const { return certificate("ca"); }
  [[nodiscard]] std::string certificate(const std::string& name) const {
    return folder_.file(name + ".crt");
  }
  [[nodiscard]] std::string key(const std::string& name) const {
    return folder_.file(name + ".key");
  }

 private:
  TempFolder folder_{};
  bool there_ = false;
};

// A server with a port for TLS beside the plain one.
class TlsServer {
 public:
  explicit TlsServer(const std::string& subject, const Words& more = {}) {
    if (!build_has_tls()) return;
    own.certify("server", subject);
    Words settings{"--tls-port",         std::to_string(port_),
                   "--tls-cert-file",    own.certificate("server"),
                   "--tls-key-file",     own.key("server"),
                   "--tls-ca-cert-file", own.ca(),
                   "--appendonly",       "yes",
                   "--appendfsync",      "always"};
    settings.insert(settings.end(), more.begin(), more.end());
    if (more.empty()) settings.insert(settings.end(), {"--tls-auth-clients", "no"});
    server.emplace(settings);
  }
  [[nodiscard]] std::string url(const std::string& host = "127.0.0.1") const {
    return "rediss://" + host + ":" + std::to_string(port_);
  }
  // Empty: the test can go on.
  [[nodiscard]] std::string missing() const {
    if (!build_has_tls()) return "this build has no TLS";
    if (!own.there()) return "openssl makes no certificates";
    if (server && server->ready()) return {};
    return RedisServer({}).ready() ? "the Redis server has no TLS" : "there is no Redis server";
  }

  Authority own{};
  std::optional<RedisServer> server{};

 private:
  int port_ = free_port();
};

#define NEEDS_TLS(server)                                                 \
  if (const std::string missing = (server).missing(); !missing.empty()) { \
    WARN(missing << ": nothing is tested");                               \
    return;                                                               \
  }

constexpr std::chrono::milliseconds soon{500};

template <class T>
std::string refusal(const Result<T>& opened) {
  CHECK_ERRC(Errc::io, opened);
  CHECK(opened.error().detail.find("hunter2") == std::string::npos);
  return opened.error().detail;
}

bool says(const std::string& text, std::string_view part) {
  INFO(text);
  CHECK(text.find(part) != text.npos);
  return text.find(part) != text.npos;
}

}  // namespace

TEST_CASE("TLS options that contradict each other or the URL are refused", "[stores][redis][tls]") {
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://127.0.0.1:1", {.tls_ca = "ca.crt"}));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://127.0.0.1:1?tls_ca=ca.crt"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://127.0.0.1:1?prefix=a&prefix=b"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://127.0.0.1:1?prefix=a&other=b"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://127.0.0.1:1?prefix=a&"));
  CHECK_ERRC(Errc::invalid_argument,
             RedisStore::on([]() -> redisContext* { return nullptr; }, {.tls_ca = "ca.crt"}));
  const std::string url = "rediss://127.0.0.1:1";
  const auto plain = RedisStore::open(url);
  if (plain.error().code == Errc::unsupported) {
    CHECK(plain.error().detail.find("hiredis with TLS") != std::string::npos);
    WARN("this build has no TLS: the rest is not tested");
    return;
  }
  CHECK_ERRC(Errc::io, plain);
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open(url, {.tls_certificate = "me.crt"}));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open(url + "?tls_key=me.key"));
}

TEST_CASE("a store over TLS keeps runs, through a restart of the server, too",
          "[stores][redis][tls]") {
  TlsServer tls("IP:127.0.0.1");
  NEEDS_TLS(tls)
  const auto opened = RedisStore::open(tls.url(), {.durability = Durability::power,
                                                   .timeout = std::chrono::seconds(20),
                                                   .tls_ca = tls.own.ca()});
  REQUIRE_OK(opened);
  CheckpointStore& store = *opened.value();
  std::vector<Record> records;
  for (Sequence seq = 1; seq <= 3'000; ++seq) records.push_back(lost_answer_record(seq));
  const auto lease = store.start({.id = "run-1"}, records);
  REQUIRE_OK(lease);
  tls.server->kill();
  tls.server->start();
  const std::vector<Record> more{lost_answer_record(3'001)};
  REQUIRE_OK(store.append(lease.value(), more, RunStatus::running));
  CHECK(store.read("run-1", {}).value().records.size() == 3'001);

  const std::string url = tls.url() + "?prefix=triage:&tls_ca=" + tls.own.ca();
  const auto looked = open_store(url, {.read_only = true});
  REQUIRE_OK(looked);
  CHECK(looked.value()->runs({}).value().size() == 1);
  CHECK_ERRC(Errc::unsupported, looked.value()->start({.id = "run-2"}, {}));
  REQUIRE_OK(open_redis_reference(tls.url() + "?tls_ca=" + tls.own.ca()));
}

TEST_CASE("a server is taken only if its certificate is trusted and names the host",
          "[stores][redis][tls]") {
  const TlsServer tls("DNS:localhost");
  NEEDS_TLS(tls)
  REQUIRE_OK(RedisStore::open(tls.url("localhost"), {.tls_ca = tls.own.ca()}));
  const Authority other;
  const std::string untrusted = "certificate is not accepted: ";
  const std::string at = tls.url(":hunter2@localhost");
  says(refusal(RedisStore::open(at, {.tls_ca = other.ca()})), untrusted);
  says(refusal(RedisStore::open(at)), untrusted);
  // By its address it has no certificate.
  const std::string by_address = tls.url(":hunter2@127.0.0.1");
  says(refusal(RedisStore::open(by_address, {.tls_ca = tls.own.ca()})), untrusted + "IP address");

  const TlsServer elsewhere("DNS:elsewhere.test");
  says(refusal(RedisStore::open(elsewhere.url("localhost"), {.tls_ca = elsewhere.own.ca()})),
       untrusted + "hostname mismatch");
}

TEST_CASE("a plain server behind rediss:, a TLS server behind redis: and one that hangs are told",
          "[stores][redis][tls]") {
  TlsServer tls("IP:127.0.0.1");
  NEEDS_TLS(tls)
  const auto begin = std::chrono::steady_clock::now();
  const std::string address = tls.server->url().substr(8);
  says(refusal(RedisStore::open("rediss://:hunter2@" + address, {.timeout = soon})),
       "may not speak TLS");
  const std::string tls_address = tls.url().substr(9);
  says(refusal(RedisStore::open("redis://:hunter2@" + tls_address, {.timeout = soon})),
       "needs rediss://");
  says(refusal(RedisStore::open("redis://" + tls_address, {.timeout = soon})), "needs rediss://");
  tls.server->pause();
  says(refusal(RedisStore::open(tls.url(":hunter2@127.0.0.1"),
                                {.timeout = soon, .tls_ca = tls.own.ca()})),
       "no answer to the TLS handshake in time");
  tls.server->go_on();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("a server that demands a certificate gets the client's", "[stores][redis][tls]") {
  TlsServer tls("IP:127.0.0.1", {"--tls-auth-clients", "yes"});
  NEEDS_TLS(tls)
  tls.own.certify("client", "DNS:client.test");
  REQUIRE(tls.own.there());
  const std::string key = tls.own.key("client");
  const RedisOptions with{
      .tls_ca = tls.own.ca(), .tls_certificate = tls.own.certificate("client"), .tls_key = key};
  REQUIRE_OK(RedisStore::open(tls.url(), with));
  const std::string parameters =
      "?tls_ca=" + with.tls_ca + "&tls_certificate=" + with.tls_certificate + "&tls_key=" + key;
  REQUIRE_OK(RedisStore::open(tls.url() + parameters));
  // In the server's words or, if it hangs up before these are read, in ours.
  says(refusal(RedisStore::open(tls.url(), {.tls_ca = tls.own.ca()})), "certificate");
}

TEST_CASE("files for TLS that cannot be used are named", "[stores][redis][tls]") {
  TlsServer tls("IP:127.0.0.1");
  NEEDS_TLS(tls)
  tls.own.certify("client", "DNS:client.test");
  const std::string own = tls.own.certificate("client");
  const std::string locked = tls.own.key("locked");
  REQUIRE(openssl({"pkey", "-in", tls.own.key("client"), "-aes256", "-passout", "pass:hunter2",
                   "-out", locked}));
  const auto with = [&](const std::string& ca, const std::string& certificate,
                        const std::string& key) {
    return refusal(RedisStore::open(
        tls.url(), {.tls_ca = ca, .tls_certificate = certificate, .tls_key = key}));
  };
  const std::string ca = tls.own.ca();
  const std::string none = "/none/here";
  says(with(none, "", ""), R"(tls_ca "/none/here" cannot be used: No such file)");
  says(with(ca, none, tls.own.key("client")), R"(tls_certificate "/none/here" cannot be used)");
  says(with(ca, own, none), R"(tls_key "/none/here" cannot be used: No such file)");
  says(with(ca, own, tls.own.key("server")), "cannot be used: ");  // Another certificate's.
  says(with(ca, own, locked), "has a passphrase");
}
