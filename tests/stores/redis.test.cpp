// SPDX-License-Identifier: MIT
// The Redis store under the conformance kit, with a real server on a free loopback port.
#include "triage/stores/redis.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/testing/conformance.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::test;
using namespace triage::testing;

namespace {

int free_port() {
  const int probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(probe);
  return bound ? ntohs(address.sin_port) : 0;
}

// A server that ends with this object; not there if the machine has none.
class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> settings) {
    port_ = free_port();
    std::vector<std::string> words{"redis-server",
                                   "--port",
                                   std::to_string(port_),
                                   "--bind",
                                   "127.0.0.1",
                                   "--save",
                                   "",
                                   "--dir",
                                   folder_.path().string()};
    words.insert(words.end(), settings.begin(), settings.end());
    std::array<int, 2> out{};
    REQUIRE(::pipe(out.data()) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(out[1], STDOUT_FILENO);
      ::close(out[0]);
      std::vector<char*> arguments;
      for (std::string& word : words) arguments.push_back(word.data());
      arguments.push_back(nullptr);
      ::execvp("redis-server", arguments.data());
      ::_exit(127);
    }
    ::close(out[1]);
    pipe_ = out[0];
    std::string said;
    std::array<char, 512> buffer{};
    while (said.find("eady to accept connections") == said.npos) {
      const ssize_t size = ::read(pipe_, buffer.data(), buffer.size());
      if (size <= 0) return;  // It ended: it is not installed, or the port was taken meanwhile.
      said.append(buffer.data(), static_cast<std::size_t>(size));
    }
    ready_ = true;
  }
  ~RedisServer() {
    ::kill(process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    ::close(pipe_);
  }
  [[nodiscard]] bool ready() const noexcept { return ready_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  TempFolder folder_{};
  int port_ = 0;
  pid_t process_ = -1;
  int pipe_ = -1;
  bool ready_ = false;
};

#define NEEDS_SERVER(server)                                                     \
  if (!(server).ready()) {                                                       \
    WARN("redis-server is not installed, or does not start: nothing is tested"); \
    return;                                                                      \
  }

}  // namespace

TEST_CASE("the Redis store does all that it claims", "[stores][redis][conformance]") {
  const RedisServer server({"--appendonly", "yes", "--appendfsync", "everysec"});
  NEEDS_SERVER(server)
  const ConformanceReport report = conformance(
      [&](const std::filesystem::path& folder) -> Result<std::shared_ptr<CheckpointStore>> {
        auto store = RedisStore::open(server.url(), {.prefix = folder.string() + ":"});
        if (!store) return store.error();
        return std::shared_ptr<CheckpointStore>(store.value());
      },
      {.name = "Redis"});
  INFO(report.text());
  CHECK(report.capabilities.durability == Durability::process);
  CHECK(report.level() == ConformanceLevel::full);
}

TEST_CASE("a Redis server is taken for what its configuration gives", "[stores][redis]") {
  SECTION("nothing, without an append-only file") {
    const RedisServer server({"--appendonly", "no"});
    NEEDS_SERVER(server)
    CHECK(RedisStore::open(server.url()).value()->capabilities().durability == Durability::none);
    CHECK_ERRC(Errc::unsupported,
               RedisStore::open(server.url(), {.durability = Durability::process}));
  }
  SECTION("power cuts, if every write is synced") {
    const RedisServer server({"--appendonly", "yes", "--appendfsync", "always"});
    NEEDS_SERVER(server)
    const auto store = RedisStore::open(server.url(), {.durability = Durability::power});
    REQUIRE_OK(store);
    CHECK(store.value()->capabilities().durability == Durability::power);
  }
  SECTION("no store, if it drops keys when it is full") {
    const RedisServer server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
    NEEDS_SERVER(server)
    const auto store = RedisStore::open(server.url());
    CHECK_ERRC(Errc::unsupported, store);
    CHECK(store.error().detail.find("allkeys-lru") != std::string::npos);
  }
}

TEST_CASE("a password is used and never shown", "[stores][redis]") {
  const RedisServer server({"--requirepass", "hunter2"});
  NEEDS_SERVER(server)
  const std::string rest = server.url().substr(8);
  REQUIRE_OK(RedisStore::open("redis://:hunter2@" + rest));
  for (const std::string& wrong : {"redis://:wrong-one@" + rest, "redis://" + rest}) {
    const auto refused = RedisStore::open(wrong);
    CHECK_ERRC(Errc::io, refused);
    CHECK(refused.error().detail.find("wrong-one") == std::string::npos);
  }
}

TEST_CASE("a Redis URL that cannot be used is refused", "[stores][redis]") {
  CHECK_ERRC(Errc::unsupported, RedisStore::open("rediss://host"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://host:none"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://host/x"));
  CHECK_ERRC(Errc::invalid_argument, RedisStore::open("redis://me@host"));
  CHECK_ERRC(Errc::io, RedisStore::open("redis://127.0.0.1:1"));
}
