// SPDX-License-Identifier: MIT
#include "supervise/protocol/protocol.hpp"

#include "triage/detail/json_depth.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::uint64_t most_troubles = 3;
// The checkpoint that makes acknowledged messages durable.
constexpr const char* acknowledged_label = "triage/acknowledged";

}  // namespace

std::size_t Protocol::most_speakers() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? static_cast<std::size_t>(files.rlim_cur / 2) : 0;
}

Protocol::Protocol(Loop& loop, Attempt& attempt, Options options)
    : loop_(loop), attempt_(attempt), options_(std::move(options)) {}

Protocol::~Protocol() {
  finish();
  threads_.clear();  // Joins.
}

Result<void> Protocol::open(const std::string& folder) {
  path_ = folder + "/s";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) {
    return Error{Errc::io, "the path of the socket is too long: " + path_};
  }
  path_.copy(address.sun_path, path_.size());
  listener_ = FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_ ||
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path_.c_str(), 0600) != 0 || ::listen(listener_.get(), SOMAXCONN) != 0) {
    return system_error("the socket " + path_);
  }
  loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
  TRIAGE_TRYV(open_notify(folder));
  TRIAGE_TRY(made, make_pipe());
  pipe_ = std::move(made);
  auto reports = std::make_shared<Speaker>(std::move(pipe_.read), false);
  speakers_.push_back(reports);
  loop_.watch(reports->file(), POLLIN, [this, reports](short events) { serve(reports, events); });
  return outcome::success();
}

void Protocol::accept() {
  FileDescriptor file(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (speakers_.size() >= most_speakers() || (!file && errno == EMFILE)) {
    loop_.set_events(listener_.get(), 0);  // The next one waits until another has gone.
  }
  if (!file) return;
  auto speaker = std::make_shared<Speaker>(std::move(file), true);
  speakers_.push_back(speaker);
  loop_.watch(speaker->file(), POLLIN, [this, speaker](short events) { serve(speaker, events); });
}

void Protocol::serve(const SpeakerPtr& speaker, short events) {
  speaker->send_more();
  bool goes_on = true;
  if (events != POLLOUT) {
    if (options_.on_activity) options_.on_activity();
    goes_on = speaker->read_lines(
        [&](std::string_view line, bool too_long) { take_line(speaker, line, too_long); });
  }
  if (goes_on && speaker->reads_nothing()) {
    trouble("its connection is cut off, since it has left 16 MB of answers unread");
    goes_on = false;
  }
  if (!goes_on) return forget(speaker);
  loop_.set_events(speaker->file(), speaker->has_unsent() ? POLLIN | POLLOUT : POLLIN);
}

// The other side may write on before it reads: whoever waited for it here would wait for ever.
void Protocol::answer(const SpeakerPtr& speaker, const Json& id, Json answer) {
  if (id.is_null()) return;
  send(speaker, id, std::move(answer));
}

void Protocol::send(const SpeakerPtr& speaker, const Json& id, Json answer) {
  speaker->answer(id, std::move(answer));
  if (speaker->has_unsent()) loop_.set_events(speaker->file(), POLLIN | POLLOUT);
}

std::optional<Doubt> Protocol::doubt() {
  const std::scoped_lock lock(mutex_);
  return doubt_;
}

void Protocol::forget(const SpeakerPtr& speaker) {
  loop_.forget(speaker->file());
  while (speaker->waits > 0) end_wait(*speaker);
  {
    const std::scoped_lock lock(mutex_);
    speaker->leave();
    for (auto& [key, effect] : effects_) {  // Unblocks its effects, which are then in doubt.
      if (!effect.held) effect.changed->notify_all();
    }
  }
  std::erase(speakers_, SpeakerPtr(speaker));
  if (listener_) loop_.set_events(listener_.get(), POLLIN);
}

void Protocol::finish() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
    for (auto& [key, effect] : effects_) {  // Unblocks those still held, which are then in doubt.
      effect.changed->notify_all();
    }
  }
  if (listener_) {
    loop_.forget(listener_.get());
    listener_.close();
    ::unlink(path_.c_str());
  }
  if (notify_) {
    hear_notify();
    loop_.forget(notify_.get());
    notify_.close();
    ::unlink(notify_path_.c_str());
  }
  pipe_.write.close();
  while (!speakers_.empty()) {
    const SpeakerPtr speaker = speakers_.back();
    pollfd ready{speaker->file(), POLLIN, 0};
    bool goes_on = true;
    while (goes_on && ::poll(&ready, 1, 0) > 0) {
      goes_on = speaker->read_lines(
          [&](std::string_view line, bool too_long) { take_line(speaker, line, too_long); });
    }
    forget(speaker);
  }
}

void Protocol::trouble(const std::string& what) {
  if (++troubles_ > most_troubles || !options_.on_trouble) return;
  options_.on_trouble("a line of the program was skipped: " + what +
                      (troubles_ == most_troubles ? "; more of them are not reported" : ""));
}

void Protocol::take_line(const SpeakerPtr& speaker, std::string_view line, bool too_long) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  // Its id is unknown, and its sender may wait for an answer.
  const auto cannot_read = [&](const std::string& why) {
    trouble(why);
    send(speaker, nullptr, refusal({Errc::invalid_argument, "a line cannot be read: " + why}));
  };
  if (too_long) return cannot_read("it has more than 16 MB");
  if (detail::nested_deeper(line, max_json_depth)) {
    return cannot_read("it is nested deeper than " + std::to_string(max_json_depth) + " levels");
  }
  const Json message = Json::parse(line.begin(), line.end(), nullptr, false);
  if (message.is_discarded()) return cannot_read("it is not JSON in UTF-8");
  if (!message.is_object()) return cannot_read("it is not a JSON object");
  const Json id = message.value("id", Json());
  if (const std::string_view number = integer_beyond_64_bits(line); !number.empty()) {
    const Error error = too_large(number);
    if (id.is_null()) return cannot_read(error.detail);
    return answer(speaker, id, refusal(error));
  }
  Json reply{{"ok", true}};
  bool later = false;
  if (auto taken = take(speaker, message, id, reply, later); !taken) {
    reply = refusal(taken.error());
    if (id.is_null()) trouble(taken.error().detail);
  }
  if (!later) answer(speaker, id, std::move(reply));
}

Result<void> Protocol::take(const SpeakerPtr& speaker, const Json& message, const Json& id,
                            Json& reply, bool& later) {
  TRIAGE_TRYV(check_keys(message));
  if (message.contains("effect")) {
    TRIAGE_TRYV(begin_effect(speaker, message["effect"], id));
    later = true;
    return outcome::success();
  }
  if (message.contains("effect_done")) {
    return end_effect(message["effect_done"], RunningEffect::End::done);
  }
  if (message.contains("effect_not_done")) {
    return end_effect(message["effect_not_done"], RunningEffect::End::not_done);
  }
  if (message.contains("get")) {
    if (message["get"] != "state") return wrong_value("get", message["get"], "\"state\"");
    reply["state"] = attempt_.state().json();
    return outcome::success();
  }
  TRIAGE_TRY(waited, take_wait(speaker, message, id, later));
  if (waited) return outcome::success();
  if (message.contains("propose_step")) {
    note_progress(speaker);
    return propose(message["propose_step"], reply);
  }
  TRIAGE_TRY(records, records_from_json(message));
  if (records.step || records.state || records.label) note_progress(speaker);
  const bool durable = records.label.has_value() || (!records.any() && !message.contains("drain"));
  TRIAGE_TRYV(take_records(std::move(records)));
  if (const auto sticky = attempt_.error()) return *sticky;
  if (id.is_null() || durable) return outcome::success();
  TRIAGE_TRYV(detail::own_checkpoint(attempt_, acknowledged_label));
  return outcome::success();
}

Result<void> Protocol::take_records(LineRecords&& records) {
  spoke_ = spoke_ || records.any();
  if (records.step) {
    if (options_.on_step) options_.on_step(*records.step);
    attempt_.record_step(std::move(*records.step));
  }
  if (records.state) attempt_.update_state(*records.state);
  if (records.usage) attempt_.record_usage(*records.usage);
  if (records.failure) failure_ = std::move(records.failure);
  if (records.label) {
    if (options_.on_label) options_.on_label(*records.label);
    TRIAGE_TRY(made, attempt_.checkpoint(*records.label));
    if (options_.on_checkpoint) options_.on_checkpoint(made);
  }
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
