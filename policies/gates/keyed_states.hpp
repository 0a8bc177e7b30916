// SPDX-License-Identifier: MIT
#pragma once
// One small state a key, in this process or shared by several through a key space. Private.

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

// Tool and endpoint as one key; different pairs never give the same one.
[[nodiscard]] std::string gate_key(const GateRequest& request);
// The same for people.
[[nodiscard]] std::string gate_subject(const GateRequest& request);
// "rate_limiter: permits is 0; allowed is …".
[[nodiscard]] Error wrong_option(std::string_view gate, std::string_view option,
                                 const std::string& value, std::string_view allowed);

// Milliseconds on the clock that everybody who shares the state has in common.
[[nodiscard]] inline std::int64_t gate_time(const GateRequest& request, bool shared) {
  return shared ? std::int64_t{request.wall.time_since_epoch().count()}
                : std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(
                                   request.now.time_since_epoch())
                                   .count()};
}

// What would be lost if a state were forgotten.
enum class Loss : std::uint8_t {
  nothing,  // It is as good as new.
  little,   // What was counted so far.
  promise,  // That nobody passes, or not so many: it must not be forgotten.
};

// The states of all keys of one gate. State has `Json to_json() const`,
// `static State from_json(const Json&)`, which makes the best of whatever it is given,
// `Loss loss(std::int64_t now) const`, on the clock that update() is given, and
// `bool in_common`: whether keys for which there is no room share a state or have none.
// With a key space, a change is a compare-and-set, repeated when another process was faster. A key
// space that fails, or throws, is left alone: the gate then goes by what this process knows.
template <class State>
class KeyedStates {
 public:
  KeyedStates(std::shared_ptr<KeySpace> shared, std::string_view space)
      : shared_(std::move(shared)), space_(space) {}

  [[nodiscard]] bool shared() const noexcept { return shared_ != nullptr; }

  // Runs change(state) on the state of tool and endpoint, maybe more than once, and returns what
  // the last run returned. It must depend on nothing but the state.
  template <class Change>
  auto update(const GateRequest& of, std::int64_t now, Change change) {
    return update(of, now, most_promises, change);
  }
  // The same for what is done by hand: there is always room.
  template <class Change>
  auto set(const GateRequest& of, std::int64_t now, Change change) {
    return update(of, now, std::numeric_limits<std::size_t>::max(), change);
  }

 private:
  static constexpr int most_tries = 64;
  static constexpr std::size_t most_keys = 4'096;  // But for promises …
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
  // Everything that is as good as new goes; if that is not enough, the older half of what is no
  // promise. If it is still not enough, there is more room until next time, so that looking at all
  // of them is rare.
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
  std::pair<const Key, Entry>* recent_ = nullptr;  // Most gates have one key, or one at a time.
  State overflow_{};
  std::size_t full_ = most_keys;
  std::uint64_t uses_ = 0;
};

// A stored number, or `otherwise` if there is none of that type.
template <class T>
T stored_number(const Json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return otherwise;
  if (std::is_integral_v<T> && !found->is_number_integer()) return otherwise;  // 1e300 is none.
  return found->get<T>();
}

}  // namespace triage::inline v0_1::detail
