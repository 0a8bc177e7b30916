// SPDX-License-Identifier: MIT
// Effects that clients carry out.
#include "supervise/protocol/protocol.hpp"

#include "triage/detail/try.hpp"

#include <stdexcept>
#include <system_error>
#include <utility>

namespace triage::inline v0_1::supervise {

// The client carries out the effect: a thread waits for its report.
Result<void> Protocol::begin_effect(const SpeakerPtr& speaker, const Json& effect, const Json& id) {
  if (!effect.is_object() || !effect.contains("key") || !effect["key"].is_string()) {
    return wrong_value("effect", effect, "an object with a key, which is a text");
  }
  if (effect.contains("held") && !effect["held"].is_boolean()) {
    return wrong_value("effect.held", effect["held"], "true or false");
  }
  if (id.is_null()) return wrong_value("id of an effect", id, "any other value");
  const std::string key = effect["key"];
  const Json arguments = effect.value("arguments", Json());
  const bool held = effect.contains("held") && effect["held"] == true;
  spoke_ = true;
  note_progress(speaker);
  if (stopped_) return Error{Errc::suspended, "the program is being ended: " + stopped_->detail};
  TRIAGE_TRYV(count_effect(held));
  auto begun = in_thread([this, speaker, key, arguments, id, held] {
    serve_effect(speaker, key, arguments, id, held);
    forget_effect(held);
  });
  if (!begun) forget_effect(held);
  return begun;
}

// Unless it is held, it keeps its connection until its end, and what it does may need one, too.
Result<void> Protocol::count_effect(bool held) {
  const std::scoped_lock lock(mutex_);
  const std::size_t most = held ? most_held : most_speakers() - most_speakers() / 4;
  std::size_t& now = held ? held_ : not_held_;
  if (now < most) {
    ++now;
    return outcome::success();
  }
  const std::string many = "there are " + std::to_string(most) + (held ? " held" : "") +
                           " effects under way at the same time; further ones must wait" +
                           (held ? "" : " (three eighths of what `ulimit -n` allows)");
  if (!std::exchange(told_many_, true) && options_.on_trouble) options_.on_trouble(many);
  return Error{Errc::exhausted, many};
}

void Protocol::forget_effect(bool held) {
  const std::scoped_lock lock(mutex_);
  --(held ? held_ : not_held_);
}

std::vector<std::string> Protocol::in_doubt() {
  const std::scoped_lock lock(mutex_);
  std::set<std::string> all = left_in_doubt_;
  for (const auto& [key, effect] : effects_) {  // Their threads may not have noticed yet.
    if (effect.begun && effect.end == RunningEffect::End::none) all.insert(key);
  }
  return {all.begin(), all.end()};
}

bool Protocol::has_effects() {
  const std::scoped_lock lock(mutex_);
  return not_held_ > 0;
}

// False: the effect is held, and under way. Whether one that was asked for just before is carried
// out is soon known.
bool Protocol::claim(const std::string& key, bool held) {
  std::unique_lock lock(mutex_);
  const auto running = [&] { return effects_.find(key); };
  claimable_.wait(lock, [&] {
    const auto found = running();
    return found == effects_.end() ||
           (found->second.begun && found->second.end == RunningEffect::End::none);
  });
  const auto found = running();
  if (found != effects_.end()) return !found->second.held;
  if (held) effects_[key] = {.held = true};
  return true;
}

void Protocol::serve_effect(const SpeakerPtr& speaker, const std::string& key,
                            const Json& arguments, const Json& id, bool held) {
  if (!claim(key, held)) {
    const Error doubt{Errc::in_doubt, "effect \"" + printable(key) + "\" is under way"};
    return speaker->answer_and_wait(id, refusal(doubt));
  }
  const auto act = [&](const EffectCall& call) { return carry_out(speaker, key, id, held, call); };
  Json last;
  try {
    const auto done = arguments.is_null() ? attempt_.try_effect(key, act)
                                          : attempt_.try_effect(key, arguments, act);
    if (done) {
      last = {{"ok", true}, {"run", false}, {"result", done.value()}};
    } else {
      const bool in_doubt = done.error().code == Errc::in_doubt;
      if (in_doubt) note_doubt(speaker, key, arguments, held);
      last = refusal(done.error());
      // Ends with the command that records what has happened.
      if (in_doubt) last["error"] = last["error"].get<std::string>() + options_.store_option;
    }
  } catch (const std::exception& error) {
    last = {{"ok", false}, {"code", "in_doubt"}, {"error", error.what()}};
  }
  if (held) {
    const std::scoped_lock lock(mutex_);
    const auto found = effects_.find(key);
    if (found != effects_.end() && !found->second.begun) effects_.erase(found);
  }
  claimable_.notify_all();
  speaker->answer_and_wait(id, std::move(last));
}

Json Protocol::carry_out(const SpeakerPtr& speaker, const std::string& key, const Json& id,
                         bool held, const EffectCall& call) {
  std::shared_ptr<std::condition_variable> changed;
  {
    const std::scoped_lock lock(mutex_);
    RunningEffect& own = effects_[key];
    own = {.held = held, .begun = true};
    changed = own.changed;
  }
  claimable_.notify_all();
  // Without the lock: if the client does not read, only this thread waits.
  speaker->answer_and_wait(id, {{"ok", true},
                                {"run", true},
                                {"generation", call.generation},
                                {"idempotency_key", call.idempotency_key}});
  std::unique_lock lock(mutex_);
  changed->wait(lock, [&] {
    return effects_[key].end != RunningEffect::End::none || (held ? closing_ : speaker->gone());
  });
  RunningEffect ended = std::move(effects_[key]);
  effects_.erase(key);
  claimable_.notify_all();
  if (ended.end == RunningEffect::End::done) return std::move(ended.result);
  if (ended.end == RunningEffect::End::not_done) throw EffectNotDone(ended.cause);
  left_in_doubt_.insert(key);
  throw std::runtime_error("the client of effect \"" + key + "\" went away");
}

// Threads that have ended are joined on the way: they keep their stacks until then.
Result<void> Protocol::in_thread(std::function<void()> work) {
  threads_.remove_if([](const EffectThread& one) { return one.ended.load(); });
  EffectThread& added = threads_.emplace_back();
  try {
    added.thread = std::jthread([&added, work = std::move(work)] {
      work();
      added.ended = true;
    });
  } catch (const std::system_error&) {
    threads_.pop_back();
    return Error{Errc::io, "the effect cannot be begun: there are too many threads"};
  }
  return outcome::success();
}

void Protocol::note_doubt(const SpeakerPtr& speaker, const std::string& key, const Json& arguments,
                          bool held) {
  const std::scoped_lock lock(mutex_);
  left_in_doubt_.insert(key);
  if (held || doubt_) return;
  doubt_ = Doubt{key, arguments};
  doubter_ = speaker;
}

void Protocol::note_progress(const SpeakerPtr& speaker) {
  const std::scoped_lock lock(mutex_);
  if (!doubt_ || (doubter_ != speaker && !doubter_->is_leaving())) return;
  doubt_.reset();
  doubter_.reset();
}

Result<void> Protocol::end_effect(const Json& end, RunningEffect::End how) {
  if (!end.is_object() || !end.contains("key") || !end["key"].is_string()) {
    return wrong_value(how == RunningEffect::End::done ? "effect_done" : "effect_not_done", end,
                       "an object with the effect's key");
  }
  const std::scoped_lock lock(mutex_);
  const auto& key = end["key"].get_ref<const std::string&>();
  const auto found = effects_.find(key);
  if (found == effects_.end() || !found->second.begun) {
    return Error{Errc::not_found, "no effect \"" + printable(key) + "\" is under way"};
  }
  found->second.end = how;
  found->second.result = end.value("result", Json());
  const Json cause = end.value("cause", Json());
  found->second.cause =
      cause.is_string() ? cause.get<std::string>() : "the client says that it did not happen";
  found->second.changed->notify_all();
  return outcome::success();
}

}  // namespace triage::inline v0_1::supervise
