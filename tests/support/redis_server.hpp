// SPDX-License-Identifier: MIT
#pragma once
// A real Redis or Valkey server for a test, on a free loopback port.

#include "support/server_process.hpp"
#include "support/temp_folder.hpp"
#include "triage/result.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace triage::test {

// A server that ends with this object; absent if the machine has none. Its append-only file
// survives a restart.
class RedisServer {
 public:
  explicit RedisServer(std::vector<std::string> settings) : port_(free_port()) {
    words_ = {program(), "--port", std::to_string(port_),  "--bind", "127.0.0.1", "--save",
              "",        "--dir",  folder_.path().string()};
    words_.insert(words_.end(), settings.begin(), settings.end());
    start();
  }
  void start() { process_.start(words_, "eady to accept connections"); }
  void kill() { process_.kill(); }
  void pause() { process_.send(SIGSTOP); }
  void go_on() { process_.send(SIGCONT); }
  // TRIAGE_TEST_REDIS, or redis-server, or valkey-server where only that is installed.
  [[nodiscard]] static std::string program();
  // Executes a command behind the store's back.
  [[nodiscard]] Result<void> ask(const std::vector<std::string>& words) const;
  // Flips one bit of a record of the store with this prefix.
  [[nodiscard]] Result<void> damage(const std::string& prefix, const std::string& run,
                                    std::uint64_t seq) const;
  [[nodiscard]] bool ready() const noexcept { return process_.ready(); }
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

 private:
  TempFolder folder_{};
  int port_ = 0;
  std::vector<std::string> words_{};
  ServerProcess process_{};
};

}  // namespace triage::test
