// SPDX-License-Identifier: MIT
#pragma once
// A small state for each key, in this process or shared through a key space. Private.

#include "triage/gate.hpp"
#include "triage/json.hpp"
#include "triage/key_space.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {

// Tool and endpoint as one key; distinct pairs give distinct keys.
[[nodiscard]] std::string gate_key(const GateRequest& request);
// The same, for messages.
[[nodiscard]] std::string gate_subject(const GateRequest& request);
// The mistakes in a gate's options, a line for each: "rate_limiter: permits is 0; allowed is …".
class OptionMistakes {
 public:
  explicit OptionMistakes(std::string_view gate) : gate_(gate) {}

  void refuse(std::string_view option, const std::string& value, std::string_view allowed);
  // Errors: Errc::invalid_argument if there are any.
  [[nodiscard]] Result<void> result() const;

 private:
  std::string gate_;
  std::string lines_{};
};

// Milliseconds on the clock common to all that share the state.
[[nodiscard]] inline std::int64_t gate_time(const GateRequest& request, bool shared) {
  return shared ? std::int64_t{request.wall.time_since_epoch().count()}
                : std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(
                                   request.now.time_since_epoch())
                                   .count()};
}

// What forgetting a state would lose.
enum class Loss : std::uint8_t {
  nothing,  // It equals a new state.
  little,   // What was counted so far.
  promise,  // Its refusals or limits, so it must not be forgotten.
};

// The states of all keys of one gate. State has `Json to_json() const`, `static State
// from_json(const Json&)`, which accepts any input, `Loss loss(std::int64_t now) const`, on
// update()'s clock, and `bool in_common`: whether keys that find no room share one state or have
// none. With a key space, a change is a compare-and-set, repeated if another process was faster. If
// the key space fails or throws, the gate uses what this process knows.
template <class State>
class KeyedStates {
 public:
  KeyedStates(std::shared_ptr<KeySpace> shared, std::string_view space)
      : shared_(std::move(shared)), space_(space) {}

  [[nodiscard]] bool shared() const noexcept { return shared_ != nullptr; }

  // Runs change(state) on the state of tool and endpoint, possibly several times, and returns the
  // last run's result. It must depend only on the state.
  template <class Change>
  auto update(const GateRequest& of, std::int64_t now, Change change) {
    return update(of, now, most_promises, change);
  }
  // The same for manual changes, for which there is always room.
  template <class Change>
  auto set(const GateRequest& of, std::int64_t now, Change change) {
    return update(of, now, std::numeric_limits<std::size_t>::max(), change);
  }

 private:
  static constexpr int most_tries = 64;
  static constexpr std::size_t most_keys = 4'096;  // Except for promises …
  static constexpr std::size_t most_promises = 65'536;

  struct Entry {
    State state{};
    std::uint64_t used = 0;
  };
  struct Key {
    std::string tool{};
    std::string endpoint{};
  };
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      const int order = std::string_view(a.tool).compare(b.tool);
      return order != 0 ? order < 0 : std::string_view(a.endpoint) < std::string_view(b.endpoint);
    }
  };

  template <class Change>
  auto update(const GateRequest& of, std::int64_t now, std::size_t most, Change& change) {
    const std::scoped_lock lock(mutex_);
    State& state = local(of, now, most);
    if (!shared_) return change(state);
    const std::string key = gate_key(of);
    for (int tries = 0; tries < most_tries; ++tries) {
      auto stored = guarded([&] { return shared_->get(space_, key); });
      if (!stored) break;
      State copy = stored.value() ? decoded(stored.value()->bytes) : State{};
      auto answer = change(copy);
      const std::string bytes = copy.to_json().dump();
      const bool unchanged = stored.value() && stored.value()->bytes == bytes;
      if (!unchanged) {
        const std::uint64_t expected = stored.value() ? stored.value()->version : 0;
        const auto written = guarded([&] { return shared_->put_if(space_, key, expected, bytes); });
        if (!written && written.error().code == Errc::conflict) continue;
        if (!written) break;
      }
      state = std::move(copy);
      return answer;
    }
    return change(state);
  }

  State& local(const GateRequest& of, std::int64_t now, std::size_t most) {
    if (recent_ != nullptr && recent_->first.tool == of.tool &&
        recent_->first.endpoint == of.endpoint) {
      recent_->second.used = ++uses_;
      return recent_->second.state;
    }
    auto found = entries_.find(of);
    if (found == entries_.end()) {
      if (entries_.size() >= full_) make_room(now);
      if (entries_.size() >= most) {
        if (!State::in_common) overflow_ = State{};
        return overflow_;
      }
      found = entries_.try_emplace(Key{std::string(of.tool), std::string(of.endpoint)}).first;
    }
    recent_ = &*found;
    found->second.used = ++uses_;
    return found->second.state;
  }
  // Removes every state that equals a new one; if that is not enough, the older half of those
  // without promises. If that is still not enough, raises the limit until next time, so that
  // scanning all states stays rare.
  void make_room(std::int64_t now) {
    recent_ = nullptr;
    std::vector<std::uint64_t> spare;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      const Loss loss = entry->second.state.loss(now);
      if (loss == Loss::little) spare.push_back(entry->second.used);
      entry = loss == Loss::nothing ? entries_.erase(entry) : std::next(entry);
    }
    if (entries_.size() >= most_keys && !spare.empty()) {
      const auto middle = spare.begin() + static_cast<std::ptrdiff_t>(spare.size() / 2);
      std::nth_element(spare.begin(), middle, spare.end());
      std::erase_if(entries_, [&](const auto& entry) {
        return entry.second.used <= *middle && entry.second.state.loss(now) == Loss::little;
      });
    }
    full_ = std::max(most_keys, entries_.size() + entries_.size() / 8);
  }
  static State decoded(const std::string& bytes) {
    const Json json = Json::parse(bytes, nullptr, false);
    return json.is_object() ? State::from_json(json) : State{};
  }
  template <class Call>
  static auto guarded(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (...) {
      return Error{Errc::io, "the key space threw an exception"};
    }
  }

  std::shared_ptr<KeySpace> shared_;
  std::string_view space_;  // One of own_space().
  std::mutex mutex_{};
  std::map<Key, Entry, Less> entries_{};
  std::pair<const Key, Entry>* recent_ = nullptr;  // Most gates use one key at a time.
  State overflow_{};
  std::size_t full_ = most_keys;
  std::uint64_t uses_ = 0;
};

// A stored number, or `otherwise` if it is missing or of another type.
template <class T>
T stored_number(const Json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return otherwise;
  if (std::is_integral_v<T> && !found->is_number_integer()) return otherwise;  // Excludes 1e300.
  return found->get<T>();
}

}  // namespace triage::inline v0_1::detail
