// SPDX-License-Identifier: MIT
#pragma once
// The state part of a journal: all of its versions, by key.

#include "triage/json.hpp"
#include "triage/state.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::detail {

// Each change makes a version, which can be looked up again in O(keys · log versions).
// Thread-safety: none; its owner locks.
class StateVersions {
 public:
  [[nodiscard]] std::uint32_t newest() const noexcept { return version_; }
  [[nodiscard]] State state() const;  // The newest; kept until the next change.
  [[nodiscard]] bool contains(std::string_view key) const;  // The newest; O(log keys).
  [[nodiscard]] State at(std::uint32_t version) const;

  // Sets the keys of `patch`, an object, whose values are shared.
  void set(const std::shared_ptr<const Json>& patch);
  void erase(const std::string& key);
  // Replaces the whole state; values that are the same objects as now cost nothing.
  void replace(const State::Values& values);

  // Approximate bytes to replay since the last snapshot.
  [[nodiscard]] std::size_t delta_cost() const noexcept { return delta_cost_; }
  void note_snapshot() noexcept { delta_cost_ = 0; }
  // The state was reset to one that is `delta_cost` after its snapshot.
  void note_return(std::size_t delta_cost) noexcept;
  // True when replaying the changes would cost more than reading a snapshot.
  [[nodiscard]] bool wants_snapshot() const noexcept;

 private:
  struct Version {
    std::uint32_t at = 0;
    std::shared_ptr<const Json> value{};  // Null: removed.
  };

  void set_key(const std::string& key, std::shared_ptr<const Json> value);

  std::map<std::string, std::vector<Version>, std::less<>> versions_{};
  std::uint32_t version_ = 0;
  std::size_t state_cost_ = 0;  // Approximate bytes of all current values.
  std::size_t delta_cost_ = 0;
  mutable std::optional<State> current_{};
};

}  // namespace triage::inline v0_1::detail
