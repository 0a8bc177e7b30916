// SPDX-License-Identifier: MIT
// Requests that take time or depend on others: sleeps, signals, approvals; and sd_notify(3)
// messages.
#include "supervise/protocol/protocol.hpp"

#include "triage/detail/try.hpp"

#include <array>
#include <cmath>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t longest_name = 256;  // Of a signal.
// For a signal, the time of day, and the ends of effects.
constexpr auto look_every = std::chrono::milliseconds(200);

// Seconds since 1970.
Result<WallTime> moment_of(const Json& seconds, const char* what) {
  constexpr double latest = 9'214'646'400.0;  // 2262: WallTime counts nanoseconds.
  const double value = seconds.is_number() ? seconds.get<double>() : -1.0;
  if (!(value >= 0.0 && value <= latest)) {
    return wrong_value(what, seconds, "a time: seconds since 1970, up to the year 2262");
  }
  return WallTime(std::chrono::milliseconds(std::llround(value * 1000.0)));
}

}  // namespace

Result<void> Protocol::open_notify(const std::string& folder) {
  notify_path_ = folder + "/n";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  notify_path_.copy(address.sun_path, sizeof address.sun_path - 1);
  notify_ = FileDescriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!notify_ ||
      ::bind(notify_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(notify_path_.c_str(), 0600) != 0) {
    return system_error("the socket " + notify_path_);
  }
  loop_.watch(notify_.get(), POLLIN, [this](short) { hear_notify(); });
  return outcome::success();
}

// Source: sd_notify(3). The kernel drops files sent with a message.
void Protocol::hear_notify() {
  std::array<char, 4096> block{};
  for (ssize_t got = 0; (got = ::recv(notify_.get(), block.data(), block.size(), 0)) > 0;) {
    if (options_.on_activity) options_.on_activity();
    std::string_view rest(block.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line == "READY=1") spoke_ = true;
      if (line.starts_with("STATUS=") && options_.on_status) {
        options_.on_status(std::string(line.substr(7)));
      }
    }
  }
}

void Protocol::stop(Error error) {
  if (stopped_) return;
  stopped_ = std::move(error);
  end_program();
}

// A program that ends in the middle of an effect leaves it in doubt.
void Protocol::end_program() {
  if (has_effects()) {
    return loop_.call_at(options_.clock->now() + look_every, [this] { end_program(); });
  }
  if (options_.on_stop) options_.on_stop();
}

Result<bool> Protocol::take_wait(const SpeakerPtr& speaker, const Json& message, const Json& id,
                                 bool& later) {
  const bool sleeps = message.contains("sleep_until");
  if (!sleeps && !message.contains("wait")) return outcome::success(false);
  if (id.is_null()) {
    return wrong_value(sleeps ? "id of a sleep_until" : "id of a wait", id, "any other value");
  }
  spoke_ = true;
  const Json request = sleeps ? message["sleep_until"] : message["wait"];
  if (sleeps) {
    TRIAGE_TRY(when, moment_of(request, "sleep_until"));
    later = true;
    sleep_until(speaker, when, when - options_.clock->wall_now(), id, false);
    return outcome::success(true);
  }
  if (!request.is_object() || !request.contains("name") || !request["name"].is_string()) {
    return wrong_value("wait", request, "an object with a name, which is a text");
  }
  const std::size_t length = request["name"].get_ref<const std::string&>().size();
  if (length == 0 || length > longest_name) {
    return wrong_value("wait.name", request["name"], "a text of 1 to 256 bytes");
  }
  TRIAGE_TRY(until, moment_of(request.value("until", Json()), "wait.until"));
  later = true;
  wait_for(speaker, request["name"], until, id, false);
  return outcome::success(true);
}

void Protocol::begin_wait(Speaker& speaker) {
  ++speaker.waits;
  if (options_.on_wait) options_.on_wait(true);
}

void Protocol::end_wait(Speaker& speaker) {
  --speaker.waits;
  if (options_.on_wait) options_.on_wait(false);
}

// A short wait happens here, so that the child keeps running; a long one suspends the run, if it
// can be suspended. Effects under way come first, also because one of them may be what waits.
bool Protocol::waits_here(Duration left) {
  return left <= options_.max_wait || options_.max_wait == Duration::zero() ||
         !attempt_.can_suspend() || has_effects();
}

// The run is suspended for the whole length, because the next attempt's request for the same length
// is recognised by it.
void Protocol::sleep_until(const SpeakerPtr& speaker, WallTime when, Duration length,
                           const Json& id, bool began) {
  if (speaker->gone()) return;
  const auto reply = [&] {
    if (began) end_wait(*speaker);
    answer(speaker, id, {{"ok", true}});
  };
  const WallTime wall = options_.clock->wall_now();
  const Duration left = when - wall;
  if (left <= Duration::zero()) return reply();
  if (waits_here(left)) {
    if (!began) begin_wait(*speaker);
    return loop_.call_at(
        options_.clock->now() + std::min<Duration>(left, look_every),
        [this, speaker, when, length, id] { sleep_until(speaker, when, length, id, true); });
  }
  try {
    attempt_.sleep_until(wall + std::chrono::ceil<std::chrono::milliseconds>(length));
    reply();
  } catch (const AttemptStopped&) {
    stop({Errc::suspended, "the program sleeps"});
  }
}

void Protocol::wait_for(const SpeakerPtr& speaker, const std::string& name, WallTime until,
                        const Json& id, bool began) {
  if (speaker->gone()) return;
  const auto reply = [&](const std::optional<Json>& value) {
    if (began) end_wait(*speaker);
    answer(speaker, id,
           value ? Json{{"ok", true}, {"came", true}, {"value", *value}}
                 : Json{{"ok", true}, {"came", false}});
  };
  try {
    if (auto value = attempt_.received(name)) return reply(value);
    const Duration left = until - options_.clock->wall_now();
    if (left <= Duration::zero() || !waits_here(left)) return reply(attempt_.wait(name, until));
    if (!began) begin_wait(*speaker);
    loop_.call_at(options_.clock->now() + std::min<Duration>(left, look_every),
                  [this, speaker, name, until, id] { wait_for(speaker, name, until, id, true); });
  } catch (const AttemptStopped&) {
    stop({Errc::suspended, "the program waits for a signal"});
  }
}

Result<void> Protocol::propose(const Json& fields, Json& reply) {
  TRIAGE_TRY(step, step_from_json(fields, "propose_step"));
  spoke_ = true;
  const auto allowed = attempt_.propose_step(step);
  reply["allowed"] = allowed.has_value();
  if (allowed) return outcome::success();
  const auto verdict = allowed.error().reported();
  if (!verdict) return allowed.error();
  reply["reason"] = verdict->text;
  if (verdict->reason == "needs_approval") stop(allowed.error());
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
