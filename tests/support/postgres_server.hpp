// SPDX-License-Identifier: MIT
#pragma once
// A real PostgreSQL server for a test, on a free loopback port, run by a user that is not root.

#include "support/server_process.hpp"
#include "support/temp_folder.hpp"
#include "triage/result.hpp"

#include <string>
#include <vector>

namespace triage::test {

// A server that ends with this object; absent if the machine has none. Committed data survives a
// restart.
class PostgresServer {
 public:
  // `settings`: such as "fsync=off". Users: "tester" (all rights) and others made by `ask`; all may
  // log in with any password or none, except "clerk", who needs one.
  explicit PostgresServer(std::vector<std::string> settings = {});
  ~PostgresServer() { crash(); }
  void start();
  // Ends it at once, without writing anything more.
  void crash() { process_.kill(SIGQUIT); }
  void pause() { process_.send(SIGSTOP); }
  void go_on() { process_.send(SIGCONT); }
  [[nodiscard]] bool ready() const noexcept { return process_.ready(); }
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] std::string url() const { return url_of("tester"); }
  [[nodiscard]] std::string url_of(const std::string& user) const {
    return "postgresql://" + user + "@127.0.0.1:" + std::to_string(port_) + "/postgres";
  }
  // Executes statements behind the store's back; returns the first value of the answer.
  [[nodiscard]] Result<std::string> ask(const std::string& statements) const;

 private:
  TempFolder folder_{};
  int port_ = 0;
  std::vector<std::string> words_{};
  uid_t user_ = 0;
  ServerProcess process_{};
};

}  // namespace triage::test
