// SPDX-License-Identifier: MIT
#pragma once
// Stands between a store and its server, and cuts the connection on request.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace triage::test {

// Forwards bytes in both directions, one connection at a time, in order.
class FaultProxy {
 public:
  // port: of the server, on 127.0.0.1.
  explicit FaultProxy(int port);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  [[nodiscard]] int port() const noexcept { return own_port_; }
  // The n-th piece of bytes from now on is dropped and its connection cut: once, or from then on.
  // When an answer is cut, the server has executed the request; when a question is cut, it has not.
  enum class Cut : std::uint8_t { question, answer };
  void cut_nth(std::int64_t n, Cut which, bool once = true);
  void heal();
  // Called with each piece that goes to the server. What it returns is the answer, and the server
  // hears nothing; empty: it is passed on. Set it before anybody connects.
  using Answer = std::function<std::string(std::string_view)>;
  void answer_with(Answer answer) { answer_ = std::move(answer); }
  // Called with each piece that comes from the server, before it is passed on. Set it before
  // anybody connects.
  void watch_answers(std::function<void(std::string_view)> watch) { watch_ = std::move(watch); }
  [[nodiscard]] bool fired() const noexcept { return fired_; }

 private:
  void serve();
  void pass_on(int client);
  [[nodiscard]] bool cuts(Cut which);

  const int server_port_;
  int listener_ = -1;
  int own_port_ = 0;
  int ending_[2] = {-1, -1};  // A pipe: readable when this object ends.
  std::atomic<std::int64_t> left_{0};
  std::atomic<Cut> which_{Cut::answer};
  std::atomic<bool> once_{true};
  std::atomic<bool> fired_{false};
  Answer answer_{};
  std::function<void(std::string_view)> watch_{};
  std::thread thread_{};
};

}  // namespace triage::test
