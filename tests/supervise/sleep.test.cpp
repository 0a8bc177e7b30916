// SPDX-License-Identifier: MIT
// A program's sleep until a time of day, on a machine that sleeps, too.
#include "supervise/protocol/protocol.hpp"

#include "support/catch.hpp"
#include "support/result.hpp"
#include "support/temp_folder.hpp"
#include "triage/agent.hpp"

#include <array>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>

using namespace triage;
using namespace triage::supervise;
using namespace std::chrono_literals;

namespace {

// Its two times pass independently of each other.
class TwoClocks final : public Clock {
 public:
  TimePoint now() override { return steady; }
  WallTime wall_now() override { return wall; }
  bool sleep_until(TimePoint, std::stop_token) override { return true; }

  TimePoint steady{1h};
  WallTime wall{std::chrono::sys_days{std::chrono::January / 1 / 2026}};
};

int connected_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int file = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return file;
}

}  // namespace

TEST_CASE("a sleep until a time of day ends in time although the machine has slept", "[protocol]") {
  const auto clock = std::make_shared<TwoClocks>();
  const test::TempFolder folder;
  const TriageAgent agent{
      [&](const int&, Attempt& attempt) {
        Loop loop;
        Protocol protocol(loop, attempt, {.clock = clock});
        REQUIRE_OK(protocol.open(folder.path().string()));
        const int client = connected_to(protocol.socket_path());
        std::array<char, 256> block{};
        const auto turn = [&] { loop.turn(clock->now(), *clock); };
        const auto answered = [&] {
          turn();
          const ssize_t got = ::recv(client, block.data(), block.size(), MSG_DONTWAIT);
          return got > 0 ? std::string(block.data(), static_cast<std::size_t>(got)) : "";
        };
        const auto until = (clock->wall + 10h).time_since_epoch() / 1s;
        const std::string line = R"({"id": 1, "sleep_until": )" + std::to_string(until) + "}\n";
        REQUIRE(::send(client, line.data(), line.size(), 0) > 0);
        turn();  // It is connected,
        turn();  // and heard.
        CHECK(answered().empty());
        clock->steady += 1min;
        clock->wall += 1min;
        CHECK(answered().empty());
        clock->steady += 1min;
        clock->wall += 10h;
        CHECK_THAT(answered(), ContainsSubstring("\"ok\":true"));
        ::close(client);
      },
      FailurePolicy{}};
  REQUIRE_OK(agent.run(1));
}
