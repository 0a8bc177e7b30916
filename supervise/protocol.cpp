// SPDX-License-Identifier: MIT
#include "supervise/protocol.hpp"

#include "supervise/tail.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace triage::inline v0_1::supervise {
namespace {

constexpr int most_waiting = 128;  // Connections not yet accepted.
constexpr std::uint64_t most_troubles = 3;
// The checkpoint that makes acknowledged messages durable.
constexpr const char* acknowledged_label = "triage/acknowledged";

Error refused(const std::string& why) { return {Errc::invalid_argument, why}; }

Result<Usage> usage_from_json(const Json& fields) {
  Usage usage;
  try {
    usage.input_tokens = fields.value("input_tokens", std::uint64_t{0});
    usage.output_tokens = fields.value("output_tokens", std::uint64_t{0});
    usage.cost_usd = fields.value("cost_usd", 0.0);
    usage.calls = fields.value("calls", std::uint64_t{1});
  } catch (const Json::exception&) {
    return refused("usage has a field of the wrong type");
  }
  return usage;
}

}  // namespace

Result<Step> step_from_json(const Json& fields) {
  if (fields.is_string()) return Step{.action = fields.get<std::string>()};
  if (!fields.is_object()) return refused("step is not an object");
  Step step;
  const char* at = "";
  const auto given = [&](const char* key) {
    at = key;
    return fields.contains(key) && !fields[key].is_null();
  };
  try {
    if (given("action")) step.action = fields["action"].get<std::string>();
    if (given("tool_called")) step.tool_called = fields["tool_called"].get<std::string>();
    if (given("tool_input")) step.tool_input = fields["tool_input"];
    if (given("tool_output")) step.tool_output = fields["tool_output"];
    if (given("llm_output")) step.llm_output = fields["llm_output"].get<std::string>();
    if (given("error")) step.error = fields["error"].get<std::string>();
    if (given("exception_type")) step.exception_type = fields["exception_type"].get<std::string>();
    if (given("http_status")) step.http_status = fields["http_status"].get<int>();
    if (given("agent_id")) step.agent_id = fields["agent_id"].get<std::string>();
    if (given("idempotent")) step.idempotent = fields["idempotent"].get<bool>();
    if (given("metadata")) step.metadata = fields["metadata"];
  } catch (const Json::exception&) {
    return refused(std::string("step.") + at + " has the wrong type");
  }
  return step;
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
      ::chmod(path_.c_str(), 0600) != 0 || ::listen(listener_.get(), most_waiting) != 0) {
    return system_error("the socket " + path_);
  }
  loop_.watch(listener_.get(), POLLIN, [this](short) { accept(); });
  TRIAGE_TRYV(open_notify(folder));
  TRIAGE_TRY(made, make_pipe());
  pipe_ = std::move(made);
  auto reports = std::make_shared<Speaker>(std::move(pipe_.read), false);
  speakers_.push_back(reports);
  loop_.watch(reports->file(), POLLIN, [this, reports](short) { serve(reports); });
  return outcome::success();
}

void Protocol::accept() {
  FileDescriptor file(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!file) return;
  auto speaker = std::make_shared<Speaker>(std::move(file), true);
  speakers_.push_back(speaker);
  loop_.watch(speaker->file(), POLLIN, [this, speaker](short) { serve(speaker); });
}

void Protocol::serve(const SpeakerPtr& speaker) {
  if (options_.on_activity) options_.on_activity();
  const bool goes_on = speaker->read_lines(
      [&](std::string_view line, bool too_long) { take_line(speaker, line, too_long); });
  if (!goes_on) forget(speaker);
}

void Protocol::forget(const SpeakerPtr& speaker) {
  loop_.forget(speaker->file());
  {
    const std::scoped_lock lock(mutex_);
    speaker->leave();
  }
  ended_.notify_all();  // Unblocks its effects, which are then in doubt.
  std::erase(speakers_, SpeakerPtr(speaker));
}

void Protocol::finish() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  ended_.notify_all();  // Unblocks effects still held, which are then in doubt.
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
  if (too_long) return trouble("it has more than 16 MB");
  const Json message = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!message.is_object()) return trouble("it is not a JSON object");
  const Json id = message.value("id", Json());
  Json answer{{"ok", true}};
  bool later = false;
  if (auto taken = take(speaker, message, id, answer, later); !taken) {
    answer = {
        {"ok", false}, {"code", to_string(taken.error().code)}, {"error", taken.error().detail}};
    if (id.is_null()) trouble(taken.error().detail);
  }
  if (!later) speaker->answer(id, std::move(answer));
}

Result<void> Protocol::take(const SpeakerPtr& speaker, const Json& message, const Json& id,
                            Json& answer, bool& later) {
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
    if (message["get"] != "state") return refused("get knows \"state\" only");
    answer["state"] = attempt_.state().json();
    return outcome::success();
  }
  TRIAGE_TRY(waited, take_wait(speaker, message, id, later));
  if (waited) return outcome::success();
  if (message.contains("propose_step")) return propose(message["propose_step"], answer);
  TRIAGE_TRYV(take_record(message));
  if (const auto sticky = attempt_.error()) return *sticky;
  if (id.is_null() || message.contains("heartbeat") || message.contains("checkpoint")) {
    return outcome::success();
  }
  TRIAGE_TRYV(attempt_.checkpoint(acknowledged_label));
  return outcome::success();
}

Result<void> Protocol::take_record(const Json& message) {
  bool known = false;
  if (message.contains("step")) {
    TRIAGE_TRY(step, step_from_json(message["step"]));
    if (options_.on_step) options_.on_step(step);
    attempt_.record_step(std::move(step));
    known = true;
  }
  if (message.contains("state")) {
    if (!message["state"].is_object()) return refused("state is not an object");
    attempt_.update_state(message["state"]);
    known = true;
  }
  if (message.contains("usage")) {
    TRIAGE_TRY(usage, usage_from_json(message["usage"]));
    attempt_.record_usage(usage);
    known = true;
  }
  if (message.contains("checkpoint")) {
    if (!message["checkpoint"].is_string()) return refused("checkpoint is not text");
    const auto& label = message["checkpoint"].get_ref<const std::string&>();
    if (label.starts_with("triage/")) return refused("labels that begin with triage/ are taken");
    TRIAGE_TRYV(attempt_.checkpoint(label));
    if (options_.on_label) options_.on_label(label);
    known = true;
  }
  if (message.contains("failure")) {
    failure_ = json_error(Json{{"error", message["failure"]}});
    if (!failure_) return refused("failure is neither a text nor an object");
    known = true;
  }
  spoke_ = spoke_ || known;
  if (known || message.contains("heartbeat") || message.contains("drain")) {
    return outcome::success();
  }
  return refused("none of its keys is known");
}

// The client carries out the effect: a thread waits for its report.
Result<void> Protocol::begin_effect(const SpeakerPtr& speaker, const Json& effect, const Json& id) {
  if (!effect.is_object() || !effect.contains("key") || !effect["key"].is_string()) {
    return refused("effect needs a key, which is a text");
  }
  if (id.is_null()) return refused("effect needs an id");
  const std::string key = effect["key"];
  const Json arguments = effect.value("arguments", Json());
  const bool held = effect.contains("held") && effect["held"] == true;
  spoke_ = true;
  {
    const std::scoped_lock lock(mutex_);
    const auto running = effects_.find(key);
    if (running != effects_.end() && running->second.held &&
        running->second.end == RunningEffect::End::none) {
      return Error{Errc::in_doubt, "effect \"" + printable(key) + "\" is under way"};
    }
  }
  const auto serve_effect = [this, speaker, key, arguments, id, held] {
    const auto carry_out = [&](const EffectCall& call) -> Json {
      std::unique_lock lock(mutex_);
      effects_[key] = {.held = held};
      speaker->answer(id, {{"ok", true},
                           {"run", true},
                           {"generation", call.generation},
                           {"idempotency_key", call.idempotency_key}});
      ended_.wait(lock, [&] {
        return effects_[key].end != RunningEffect::End::none || (held ? closing_ : speaker->gone());
      });
      RunningEffect ended = std::move(effects_[key]);
      effects_.erase(key);
      if (ended.end == RunningEffect::End::done) return std::move(ended.result);
      if (ended.end == RunningEffect::End::not_done) throw EffectNotDone(ended.cause);
      throw std::runtime_error("the client of effect \"" + key + "\" went away");
    };
    try {
      const auto done = arguments.is_null() ? attempt_.try_effect(key, carry_out)
                                            : attempt_.try_effect(key, arguments, carry_out);
      if (done)
        return speaker->answer(id, {{"ok", true}, {"run", false}, {"result", done.value()}});
      speaker->answer(
          id,
          {{"ok", false}, {"code", to_string(done.error().code)}, {"error", done.error().detail}});
    } catch (const std::exception& error) {
      speaker->answer(id, {{"ok", false}, {"code", "in_doubt"}, {"error", error.what()}});
    }
  };
  threads_.emplace_back(serve_effect);
  return outcome::success();
}

Result<void> Protocol::end_effect(const Json& end, RunningEffect::End how) {
  if (!end.is_object() || !end.contains("key") || !end["key"].is_string()) {
    return refused("the end of an effect needs its key");
  }
  const std::scoped_lock lock(mutex_);
  const auto found = effects_.find(end["key"].get_ref<const std::string&>());
  if (found == effects_.end()) return Error{Errc::not_found, "no such effect is under way"};
  found->second.end = how;
  found->second.result = end.value("result", Json());
  found->second.cause = end.value("cause", "the client says that it did not happen");
  ended_.notify_all();
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
