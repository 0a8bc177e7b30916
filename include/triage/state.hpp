// SPDX-License-Identifier: MIT
#pragma once
// The agent's data at one moment: an immutable JSON object that is cheap to copy.

#include "triage/json.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace triage::inline v0_1 {

// Thread-safety: like a shared_ptr to const data.
class State {
 public:
  using Values = std::map<std::string, std::shared_ptr<const Json>, std::less<>>;

  State() = default;
  explicit State(std::shared_ptr<const Values> values) : values_(std::move(values)) {}

  [[nodiscard]] bool empty() const noexcept { return !values_ || values_->empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return values_ ? values_->size() : 0; }
  [[nodiscard]] bool contains(std::string_view key) const { return find(key) != nullptr; }
  // Null if the key is missing; valid as long as any copy of this state lives.
  [[nodiscard]] const Json* find(std::string_view key) const&;
  const Json* find(std::string_view key) const&& = delete;  // Would point into a temporary.
  // The value under `key`, or `otherwise` if the key is missing. Throws like nlohmann's get if the
  // value has another type.
  template <class T>
  [[nodiscard]] T value(std::string_view key, T otherwise) const {
    const Json* found = find(key);
    return found == nullptr ? std::move(otherwise) : found->template get<T>();
  }
  // Null if the state is empty.
  [[nodiscard]] const std::shared_ptr<const Values>& values() const noexcept { return values_; }
  // The whole state as one JSON object. O(size).
  [[nodiscard]] Json json() const;

  // nlohmann's hook: `Json j = state;` and `j["state"] = state;` work.
  friend void to_json(Json& json, const State& state) { json = state.json(); }
  friend bool operator==(const State& a, const State& b) { return a.json() == b.json(); }

 private:
  std::shared_ptr<const Values> values_{};
};

}  // namespace triage::inline v0_1
