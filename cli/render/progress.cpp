// SPDX-License-Identifier: MIT
#include "progress.hpp"

#include "command_status.hpp"
#include "output.hpp"

#include "triage/json.hpp"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace triage::inline v0_1::cli {
namespace {

constexpr Duration between_changes = std::chrono::milliseconds(200);
constexpr Duration between_lines = std::chrono::seconds(30);

}  // namespace

bool Progress::is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }

Progress::Progress(std::string what, std::shared_ptr<Clock> clock, bool terminal)
    : what_(std::move(what)),
      clock_(std::move(clock)),
      terminal_(terminal && !asked_for_json()),
      began_(clock_->now()),
      next_(began_ + (terminal_ ? between_changes : between_lines)) {}

std::string Progress::next(std::uint64_t done, std::uint64_t all) {
  if (!begun_) {
    begun_ = true;
    first_ = done;
  }
  const TimePoint now = clock_->now();
  if (now < next_ || all == 0) return {};
  next_ = now + (terminal_ ? between_changes : between_lines);
  std::string text = "triage: " + printable(what_) + ": " + std::to_string(done) + " of " +
                     std::to_string(all) + " (" + std::to_string(100 * done / all) + " %)";
  if (done > first_ && done < all) {
    const double part = static_cast<double>(all - done) / static_cast<double>(done - first_);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>((now - began_) * part);
    text += ", " + short_duration(left) + " left";
  }
  return text;
}

void Progress::tell(std::uint64_t done, std::uint64_t all) {
  const std::string line = next(done, all);
  if (line.empty()) return;
  if (asked_for_json()) {
    const Json event{{"event", "progress"}, {"what", what_}, {"done", done}, {"all", all}};
    std::fprintf(stderr, "%s\n", show(event).c_str());
    return;
  }
  std::fprintf(stderr, terminal_ ? "\r%s\033[K" : "%s\n", line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::end() {
  if (shown_ && terminal_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace triage::inline v0_1::cli
