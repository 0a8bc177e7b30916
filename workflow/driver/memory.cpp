// SPDX-License-Identifier: MIT
#include "triage/workflow/memory.hpp"
#include "call.hpp"
#include "delivery_call.hpp"
#include "triage/detail/reserved.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

constexpr std::size_t longest_memory_key = 256;
constexpr std::size_t longest_agent = 250;

// scope: "m|" and the agent's name.
bool fits(const std::string& scope, std::string_view key) {
  return !key.empty() && key.size() <= longest_memory_key && !triage::detail::is_reserved(key) &&
         scope.size() > 2 && scope.size() <= 2 + longest_agent;
}
Error no_memory(const std::string& scope, std::string_view key) {
  return {Errc::invalid_argument,
          "memory \"" + printable(scope.substr(2)) + "/" + printable(key) +
              "\" is not allowed: an agent has 1 to 250 bytes, a key 1 to 256, and no key begins "
              "with \"triage/\""};
}

std::int64_t milliseconds(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

}  // namespace

std::optional<Remembered> Memory::find(std::string_view key) const {
  const auto found = call_->read(scope_, key);
  if (!found || !found->is_object()) return std::nullopt;
  if (found->contains("turns") &&
      call_->superstep() - found->at("turn").get<int>() > found->at("turns").get<int>()) {
    return std::nullopt;
  }
  if (found->contains("until") &&
      milliseconds(call_->wall_now()) >= found->at("until").get<std::int64_t>()) {
    return std::nullopt;
  }
  return Remembered{
      .value = found->at("value"),
      .author = found->at("by").get<std::string>(),
      .turn = found->at("turn").get<int>(),
      .written = WallTime(std::chrono::milliseconds(found->at("at").get<std::int64_t>()))};
}

void Memory::set(std::string_view key, Json value, const MemoryOptions& options) {
  if (!fits(scope_, key)) return call_->stick(no_memory(scope_, key));
  if ((options.turns && *options.turns <= 0) || (options.time && options.time->count() <= 0)) {
    return call_->stick(
        {Errc::invalid_argument, "the lifetime of memory \"" + printable(key) + "\" is " +
                                     (options.turns && *options.turns <= 0
                                          ? std::to_string(*options.turns) + " turns"
                                          : std::to_string(options.time->count()) + " ms") +
                                     "; allowed is 1 or more"});
  }
  if (auto checked = check_json(value, "a memory"); !checked) {
    return call_->stick(std::move(checked).error());
  }
  const std::int64_t now = milliseconds(call_->wall_now());
  Json entry{{"value", std::move(value)},
             {"by", call_->executor()},
             {"turn", call_->superstep()},
             {"at", now}};
  if (options.turns) entry["turns"] = *options.turns;
  if (options.time) {
    const std::int64_t longest = std::numeric_limits<std::int64_t>::max() - now;
    entry["until"] = now + std::min<std::int64_t>(options.time->count(), longest);
  }
  call_->write(scope_, key, std::move(entry));
}

void Memory::forget(std::string_view key) {
  if (!fits(scope_, key)) return call_->stick(no_memory(scope_, key));
  call_->write(scope_, key, nullptr);
}

Memory Context::memory(std::string_view agent) {
  return {call_, std::string(detail::memory_prefix) + std::string(agent)};
}

std::optional<Resource> Context::resource(std::string_view name) const {
  return call_->resource(name);
}

namespace detail {

Result<void> check_resources(const std::vector<Resource>& resources) {
  std::set<std::string> names;
  for (const Resource& one : resources) {
    if (one.name.empty() || one.name.size() > 128 || one.digest.size() > 256 ||
        !names.insert(one.name).second) {
      return Error{Errc::invalid_argument,
                   "resource \"" + printable(one.name) +
                       "\" is not allowed: names have 1 to 128 bytes and are unique, digests at "
                       "most 256"};
    }
  }
  return outcome::success();
}

}  // namespace detail

}  // namespace triage::inline v0_1::workflow
