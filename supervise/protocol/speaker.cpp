// SPDX-License-Identifier: MIT
#include "supervise/protocol/protocol.hpp"

#include <array>

#include <poll.h>
#include <sys/socket.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t most_read_at_once = 64U << 10U;
constexpr int look_every_ms = 100;  // Whether the other side is still there.

}  // namespace

void Speaker::answer(const Json& id, Json answer) {
  if (!answers_ || gone()) return;
  Json whole{{"id", id}};
  whole.update(answer);
  {
    const std::scoped_lock lock(writing_);
    too_many_ = too_many_ || unsent_.size() > most_unsent;  // One answer may be larger by itself.
    unsent_ += show(whole) + "\n";
  }
  send_more();
}

void Speaker::answer_and_wait(const Json& id, Json answer) {
  this->answer(id, std::move(answer));
  while (has_unsent() && !gone()) {
    pollfd ready{file_.get(), POLLOUT, 0};
    ::poll(&ready, 1, look_every_ms);
    send_more();
  }
}

void Speaker::send_more() {
  const std::scoped_lock lock(writing_);
  std::size_t sent = 0;
  while (sent < unsent_.size()) {
    const ssize_t put = ::send(file_.get(), unsent_.data() + sent, unsent_.size() - sent,
                               MSG_NOSIGNAL | MSG_DONTWAIT);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno != EAGAIN) sent = unsent_.size();  // Nobody is there.
    if (put < 0) break;
    sent += static_cast<std::size_t>(put);
  }
  unsent_.erase(0, sent);
}

bool Speaker::is_leaving() const noexcept {
  pollfd end{file_.get(), POLLRDHUP, 0};
  return gone() || ::poll(&end, 1, 0) > 0;
}

bool Speaker::has_unsent() {
  const std::scoped_lock lock(writing_);
  return !unsent_.empty();
}

bool Speaker::reads_nothing() {
  const std::scoped_lock lock(writing_);
  return too_many_;
}

bool Speaker::read_lines(const std::function<void(std::string_view line, bool too_long)>& on_line) {
  std::array<char, most_read_at_once> block;  // Not cleared: most lines are short.
  const ssize_t got = ::read(file_.get(), block.data(), block.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  if (got == 0) {
    if (!waiting_.empty()) on_line(waiting_, skipping_);  // A last line without a newline.
    waiting_.clear();
    return false;
  }
  std::string_view rest(block.data(), static_cast<std::size_t>(got));
  for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    if (waiting_.empty() && !skipping_) {
      on_line(rest.substr(0, end), false);
    } else {
      waiting_.append(rest.substr(0, end));
      on_line(waiting_, skipping_);
      waiting_.clear();
      skipping_ = false;
    }
    rest.remove_prefix(end + 1);
  }
  if (!skipping_) waiting_.append(rest);
  if (waiting_.size() > Protocol::longest_line) {
    skipping_ = true;
    waiting_.resize(1);
  }
  return true;
}

}  // namespace triage::inline v0_1::supervise
