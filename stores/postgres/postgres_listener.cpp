// SPDX-License-Identifier: MIT
#include "postgres_listener.hpp"

#include <libpq-fe.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace triage::inline v0_1::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Becomes readable when a stop is requested.
class StopEvent {
 public:
  explicit StopEvent(const std::stop_token& stop) : callback_(stop, Ring{file_.number}) {}
  [[nodiscard]] int file() const noexcept { return file_.number; }

 private:
  struct File {
    File() = default;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
      if (number >= 0) ::close(number);
    }
    const int number = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  };
  struct Ring {
    int file;
    void operator()() const noexcept {
      const std::uint64_t one = 1;
      static_cast<void>(!::write(file, &one, sizeof one));
    }
  };
  const File file_{};
  const std::stop_callback<Ring> callback_;  // Destroyed before the file is closed.
};

}  // namespace

void PgListener::Finish::operator()(pg_conn* connection) const noexcept { PQfinish(connection); }

bool PgListener::connect(Point until, const std::stop_token& stop) {
  connection_.reset(connect_());
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK) return false;
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  char* const name = PQescapeIdentifier(connection_.get(), channel_.data(), channel_.size());
  if (name == nullptr) return false;
  const int sent = PQsendQuery(connection_.get(), ("LISTEN " + std::string(name)).c_str());
  PQfreemem(name);
  if (sent == 0) return false;
  const StopEvent stopped(stop);
  // A server, or what stands in between, may accept a connection and then say nothing.
  while (PQisBusy(connection_.get()) != 0) {
    if (!await(stopped.file(), until) || stop.stop_requested()) return false;
    if (PQconsumeInput(connection_.get()) == 0) return false;
  }
  bool listens = false;
  while (PGresult* const result = PQgetResult(connection_.get())) {
    listens = PQresultStatus(result) == PGRES_COMMAND_OK;
    PQclear(result);
  }
  return listens;
}

// False once `until` has come.
bool PgListener::await(int stopped, Point until) const {
  const auto left = std::chrono::ceil<milliseconds>(until - steady_clock::now()).count();
  if (left <= 0) return false;
  std::array<pollfd, 2> waited{pollfd{PQsocket(connection_.get()), POLLIN, 0},
                               pollfd{stopped, POLLIN, 0}};
  ::poll(waited.data(), waited.size(), static_cast<int>(std::min<long>(left, 1'000'000)));
  return true;
}

PgListener::Heard PgListener::listen(Point until, const std::stop_token& stop) {
  // After a reconnect, notifications may have been missed.
  const auto anew = [&] {
    if (connect(until, stop)) return Heard::something;
    connection_.reset();
    return Heard::lost;
  };
  if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK) return anew();
  const StopEvent stopped(stop);
  while (true) {
    if (PQconsumeInput(connection_.get()) == 0) return anew();
    bool heard = false;
    while (PGnotify* const one = PQnotifies(connection_.get())) {
      PQfreemem(one);
      heard = true;
    }
    if (heard) return Heard::something;
    if (stop.stop_requested() || !await(stopped.file(), until)) return Heard::nothing;
  }
}

bool PgListener::wait(milliseconds longest, const std::stop_token& stop) {
  const Point until = steady_clock::now() + longest;
  std::unique_lock here(mutex_);
  const std::uint64_t before = heard_;
  while (heard_ == before && !stop.stop_requested() && steady_clock::now() < until) {
    if (read_) {
      changed_.wait_until(here, stop, until, [&] { return heard_ != before || !read_; });
      continue;
    }
    read_ = true;
    here.unlock();
    const Heard heard = listen(until, stop);
    here.lock();
    read_ = false;
    if (heard == Heard::something) ++heard_;
    changed_.notify_all();
    if (heard == Heard::lost) return false;
  }
  return true;
}

}  // namespace triage::inline v0_1::detail
