// SPDX-License-Identifier: MIT
#pragma once
// One small state a key, in this process or shared by several through a key space. Private.

#include "triage/gate.hpp"
#include "triage/json.hpp"
#include "triage/key_space.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

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

// The states of all keys of one gate. State has `Json to_json() const` and
// `static State from_json(const Json&)`, which makes the best of whatever it is given.
// With a key space, a change is a compare-and-set, repeated when another process was faster. A key
// space that fails is left alone: the gate then goes by what this process knows.
template <class State>
class KeyedStates {
 public:
  KeyedStates(std::shared_ptr<KeySpace> shared, std::string space)
      : shared_(std::move(shared)), space_(std::move(space)) {}

  [[nodiscard]] bool shared() const noexcept { return shared_ != nullptr; }

  // Runs change(state) on the state of `key`, maybe more than once, and returns what the last run
  // returned. It must depend on nothing but the state.
  template <class Change>
  auto update(const std::string& key, Change change) {
    const std::scoped_lock lock(mutex_);
    State& state = local(key);
    if (!shared_) return change(state);
    for (int tries = 0; tries < most_tries; ++tries) {
      auto stored = contained([&] { return shared_->get(space_, key); });
      if (!stored) break;
      State copy = stored.value() ? decoded(stored.value()->bytes) : State{};
      auto answer = change(copy);
      const std::string bytes = copy.to_json().dump();
      const bool unchanged = stored.value() && stored.value()->bytes == bytes;
      if (!unchanged) {
        const std::uint64_t version = stored.value() ? stored.value()->version : 0;
        const auto written =
            contained([&] { return shared_->put_if(space_, key, version, bytes); });
        if (!written && written.error().code == Errc::conflict) continue;
        if (!written) break;
      }
      state = std::move(copy);
      return answer;
    }
    return change(state);
  }

 private:
  static constexpr int most_tries = 64;
  static constexpr std::size_t most_keys = 4'096;

  struct Entry {
    State state{};
    std::uint64_t used = 0;
  };

  State& local(const std::string& key) {
    if (entries_.size() >= most_keys && !entries_.contains(key)) forget_oldest();
    Entry& entry = entries_[key];
    entry.used = ++uses_;
    return entry.state;
  }
  void forget_oldest() {
    auto oldest = entries_.begin();
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (entry->second.used < oldest->second.used) oldest = entry;
    }
    entries_.erase(oldest);
  }
  // Gates are asked in functions that may not throw; a user's key space does all the same.
  template <class Call>
  static auto contained(Call call) -> decltype(call()) {
    try {
      return call();
    } catch (...) {
      return Error{Errc::io, "the key space threw"};
    }
  }
  static State decoded(const std::string& bytes) {
    const Json json = Json::parse(bytes, nullptr, false);
    return json.is_object() ? State::from_json(json) : State{};
  }

  std::shared_ptr<KeySpace> shared_;
  std::string space_;
  std::mutex mutex_{};
  std::map<std::string, Entry> entries_{};
  std::uint64_t uses_ = 0;
};

// A stored number, or `otherwise` if there is none of that type.
template <class T>
T stored_number(const Json& object, const char* key, T otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<T>() : otherwise;
}

}  // namespace triage::inline v0_1::detail
