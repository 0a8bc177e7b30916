// SPDX-License-Identifier: MIT
#pragma once
// Receives other processes' notifications on a connection of its own, opened on the first wait.

#include "triage/stores/postgres.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace triage::inline v0_1::detail {

// One of the waiting threads reads the connection and wakes the others. Thread-safety: all members
// may be called from several threads at once.
class PgListener {
 public:
  // channel: as passed to pg_notify().
  PgListener(PostgresStore::Connect connect, std::string channel)
      : connect_(std::move(connect)), channel_(std::move(channel)) {}
  PgListener(const PgListener&) = delete;
  PgListener& operator=(const PgListener&) = delete;

  // Waits for a notification, the timeout or a stop. The first wait on a new connection returns at
  // once, because earlier notifications may have been missed. False: there is no connection.
  [[nodiscard]] bool wait(std::chrono::milliseconds longest, const std::stop_token& stop);
  // For a child made by fork(), which must not close its parent's connection.
  void abandon() noexcept { static_cast<void>(connection_.release()); }

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  using Point = std::chrono::steady_clock::time_point;
  enum class Heard : std::uint8_t { nothing, something, lost };

  [[nodiscard]] bool connect(Point until, const std::stop_token& stop);
  [[nodiscard]] bool await(int stopped, Point until) const;
  [[nodiscard]] Heard listen(Point until, const std::stop_token& stop);

  const PostgresStore::Connect connect_;
  const std::string channel_;
  std::unique_ptr<pg_conn, Finish> connection_{};  // Used by the thread that reads.
  std::mutex mutex_;                               // Guards the members below.
  std::condition_variable_any changed_;
  bool read_ = false;        // A thread is reading the connection.
  std::uint64_t heard_ = 0;  // Number of notifications.
};

}  // namespace triage::inline v0_1::detail
