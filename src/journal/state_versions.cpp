// SPDX-License-Identifier: MIT
#include "triage/detail/state_versions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace triage::inline v0_1::detail {
namespace {

// The cost of replaying one more record besides its bytes: fetching and decoding a row.
constexpr std::size_t record_cost = 64;
// Below this, replaying is cheap regardless of the state's size.
constexpr std::size_t free_delta_cost = 8'192;

std::size_t rough_cost(const Json& value) {
  switch (value.type()) {
    case Json::value_t::string: return 3 + value.get_ref<const std::string&>().size();
    case Json::value_t::array: {
      std::size_t sum = 3;
      for (const Json& element : value) sum += 1 + rough_cost(element);
      return sum;
    }
    case Json::value_t::object: {
      std::size_t sum = 3;
      for (const auto& [key, element] : value.get_ref<const Json::object_t&>()) {
        sum += key.size() + rough_cost(element);
      }
      return sum;
    }
    default: return 9;
  }
}

// A key for whose first version there was no memory has none.
template <class Versions>
const Json* newest_of(const Versions& versions) {
  return versions.empty() ? nullptr : versions.back().value.get();
}

}  // namespace

State StateVersions::state() const { return at(version_); }

State StateVersions::at(std::uint32_t version) const {
  if (version == version_ && current_) return *current_;
  auto values = std::make_shared<State::Values>();
  for (const auto& [key, versions] : versions_) {
    const auto after = std::upper_bound(
        versions.begin(), versions.end(), version,
        [](std::uint32_t at, const Version& candidate) { return at < candidate.at; });
    if (after != versions.begin() && std::prev(after)->value) {
      values->emplace_hint(values->end(), key, std::prev(after)->value);
    }
  }
  State found = values->empty() ? State() : State(std::move(values));
  if (version == version_) current_ = found;
  return found;
}

bool StateVersions::contains(std::string_view key) const {
  const auto found = versions_.find(key);
  return found != versions_.end() && newest_of(found->second) != nullptr;
}

void StateVersions::set_key(const std::string& key, std::shared_ptr<const Json> value) {
  auto& versions = versions_[key];
  const Json* const known = newest_of(versions);
  const std::size_t before = known == nullptr ? 0 : rough_cost(*known);
  const std::size_t after = value ? rough_cost(*value) : 0;
  state_cost_ = state_cost_ - std::min(state_cost_, before) + after;
  delta_cost_ += after + key.size();
  if (!versions.empty() && versions.back().at == version_) {
    versions.back().value = std::move(value);
  } else {
    versions.push_back({version_, std::move(value)});
  }
}

void StateVersions::set(const std::shared_ptr<const Json>& patch) {
  ++version_;
  current_.reset();
  delta_cost_ += record_cost;
  for (const auto& [key, value] : patch->get_ref<const Json::object_t&>()) {
    set_key(key, std::shared_ptr<const Json>(patch, &value));
  }
}

void StateVersions::erase(const std::string& key) {
  ++version_;
  current_.reset();
  delta_cost_ += record_cost;
  const auto found = versions_.find(key);
  if (found != versions_.end() && newest_of(found->second) != nullptr) set_key(key, nullptr);
}

void StateVersions::replace(const State::Values& values) {
  if (current_ && current_->values().get() == &values) return;  // Already the state.
  ++version_;
  current_.reset();
  for (auto& [key, versions] : versions_) {
    if (newest_of(versions) != nullptr && !values.contains(key)) set_key(key, nullptr);
  }
  for (const auto& [key, value] : values) {
    auto& versions = versions_[key];
    if (versions.empty() || versions.back().value != value) set_key(key, value);
  }
}

void StateVersions::note_return(std::size_t delta_cost) noexcept {
  delta_cost_ = delta_cost + record_cost;  // Reading continues after that state's snapshot.
}

bool StateVersions::wants_snapshot() const noexcept {
  return delta_cost_ > 2 * state_cost_ + free_delta_cost;
}

}  // namespace triage::inline v0_1::detail
