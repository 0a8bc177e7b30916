// SPDX-License-Identifier: MIT
#pragma once
// Hears what other processes notify: a connection of its own, made when somebody first waits.

#include "triage/stores/postgres.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

namespace triage::inline v0_1::detail {

// Of the threads that wait one reads the connection, and the others are woken by it.
// Thread-safety: all members may be called from several threads at once.
class PgListener {
 public:
  // channel: as pg_notify() has it.
  PgListener(PostgresStore::Connect connect, std::string channel)
      : connect_(std::move(connect)), channel_(std::move(channel)) {}
  PgListener(const PgListener&) = delete;
  PgListener& operator=(const PgListener&) = delete;

  // Until something is heard, it is over, or a stop is requested. The first wait after a connection
  // was made returns at once: nobody knows what was said before. False: there is no connection.
  [[nodiscard]] bool wait(std::chrono::milliseconds longest, const std::stop_token& stop);
  // A child made by fork() must not say goodbye to its parent's server.
  void abandon() noexcept { static_cast<void>(connection_.release()); }

 private:
  struct Finish {
    void operator()(pg_conn* connection) const noexcept;
  };
  using Point = std::chrono::steady_clock::time_point;
  enum class Heard : std::uint8_t { nothing, something, lost };

  [[nodiscard]] bool connect();
  [[nodiscard]] Heard listen(Point until, const std::stop_token& stop);

  const PostgresStore::Connect connect_;
  const std::string channel_;
  std::unique_ptr<pg_conn, Finish> connection_{};  // Whoever reads has it.
  std::mutex mutex_;                               // Guards what follows.
  std::condition_variable_any changed_;
  bool read_ = false;        // Somebody reads the connection.
  std::uint64_t heard_ = 0;  // How often something was.
};

}  // namespace triage::inline v0_1::detail
