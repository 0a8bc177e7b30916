// SPDX-License-Identifier: MIT
#pragma once
// A server that a test starts and that ends with it.

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace triage::test {

// A port of 127.0.0.1 that is currently unused; 0 if there is none.
[[nodiscard]] int free_port();

class ServerProcess {
 public:
  ServerProcess() = default;
  ~ServerProcess() { kill(); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // Starts `words` and waits until it has printed `ready`. Not ready if it ends before, for example
  // because it is not installed. `user`: the user to run as, if permitted; 0: the same.
  void start(const std::vector<std::string>& words, const std::string& ready, uid_t user = 0);
  // Sends the signal and waits for the end.
  void kill(int signal = SIGKILL);
  // Waits until it ends by itself.
  void wait();
  void send(int signal) const;
  [[nodiscard]] bool ready() const noexcept { return ready_; }

 private:
  pid_t process_ = -1;
  int pipe_ = -1;
  bool ready_ = false;
};

}  // namespace triage::test
