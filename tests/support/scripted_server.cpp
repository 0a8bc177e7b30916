// SPDX-License-Identifier: MIT
#include "scripted_server.hpp"

#include <httplib.h>

#include <algorithm>
#include <cctype>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>

namespace triage::test {

struct ScriptedServer::Server {
  Script script{};
  httplib::Server http{};
  int port = 0;
  std::thread thread{};

  std::mutex script_mutex{};  // One request at a time.
  std::mutex mutex{};         // Guards everything below.
  std::condition_variable changed{};
  std::vector<ServerRequest> requests{};
  bool ending = false;

  void answer(const httplib::Request& request, httplib::Response& response);
};

namespace {

ServerRequest seen(const httplib::Request& request) {
  ServerRequest one{.method = request.method, .path = request.path, .body = request.body};
  for (const auto& [name, value] : request.headers) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    one.headers[lower] = value;
  }
  return one;
}

}  // namespace

void ScriptedServer::Server::answer(const httplib::Request& request, httplib::Response& response) {
  const ServerRequest one = seen(request);
  {
    const std::scoped_lock lock(mutex);
    requests.push_back(one);
  }
  ServerAnswer said;
  {
    const std::scoped_lock lock(script_mutex);
    said = script(one);
  }
  if (said.how == ServerAnswer::How::never) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return ending; });
    return;
  }
  response.status = said.status;
  for (const auto& [name, value] : said.headers) response.set_header(name, value);
  if (said.how == ServerAnswer::How::whole) {
    response.set_content(said.body, "application/json");
    return;
  }
  const std::string half = said.body.substr(0, said.body.size() / 2);
  response.set_content_provider(said.body.size(), "application/json",
                                [half](std::size_t offset, std::size_t, httplib::DataSink& sink) {
                                  return offset == 0 && !half.empty() &&
                                         sink.write(half.data(), half.size());
                                });
}

ScriptedServer::ScriptedServer(Script script) : server_(std::make_unique<Server>()) {
  Server& s = *server_;
  s.script = std::move(script);
  s.http.new_task_queue = [] { return new httplib::ThreadPool(4); };
  s.http.set_keep_alive_max_count(1);  // So that stopping does not wait for idle connections.
  s.http.set_tcp_nodelay(true);
  const auto answer = [&s](const httplib::Request& request, httplib::Response& response) {
    s.answer(request, response);
  };
  s.http.Get(".*", answer);
  s.http.Post(".*", answer);
  s.port = s.http.bind_to_any_port("127.0.0.1");
  if (s.port <= 0) throw std::runtime_error("there is no free port on 127.0.0.1");
  s.thread = std::thread([&s] { s.http.listen_after_bind(); });
}

ScriptedServer::ScriptedServer(std::vector<ServerAnswer> answers)
    : ScriptedServer(
          [answers = std::move(answers), next = std::size_t{0}](const ServerRequest&) mutable {
            const ServerAnswer& answer = answers.at(std::min(next, answers.size() - 1));
            ++next;
            return answer;
          }) {}

ScriptedServer::~ScriptedServer() {
  {
    const std::scoped_lock lock(server_->mutex);
    server_->ending = true;
  }
  server_->changed.notify_all();
  while (!server_->http.is_running()) std::this_thread::yield();  // stop() before that is ignored.
  server_->http.stop();
  server_->thread.join();
}

std::string ScriptedServer::url() const {
  return "http://127.0.0.1:" + std::to_string(server_->port);
}

std::vector<ServerRequest> ScriptedServer::requests() const {
  const std::scoped_lock lock(server_->mutex);
  return server_->requests;
}

}  // namespace triage::test
