// SPDX-License-Identifier: MIT
#pragma once
// An HTTP server on a free local port that answers as a test prescribes, during its lifetime.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace triage::test {

struct ServerRequest {
  std::string method{};
  std::string path{};
  std::string body{};
  std::map<std::string, std::string> headers{};  // Names in lower case.
};

struct ServerAnswer {
  enum class How {
    whole,
    half,   // Half of the body, then the connection is closed.
    never,  // Nothing comes until the server ends.
  };
  int status = 200;
  std::string body{};
  std::map<std::string, std::string> headers{};
  How how = How::whole;
};

class ScriptedServer {
 public:
  // Called for every request, one at a time, on a thread of the server.
  using Script = std::function<ServerAnswer(const ServerRequest&)>;

  explicit ScriptedServer(Script script);
  // Sends these answers in order, repeating the last one.
  explicit ScriptedServer(std::vector<ServerAnswer> answers);
  ~ScriptedServer();

  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:PORT"
  [[nodiscard]] std::vector<ServerRequest> requests() const;

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace triage::test
