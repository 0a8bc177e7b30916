// SPDX-License-Identifier: MIT
// Helpers for effects: names, hashes of arguments, idempotency keys, turns.
#include "triage/effect.hpp"

#include "base/digest.hpp"
#include "base/error_more.hpp"
#include "base/run_catching.hpp"
#include "effects/effects.hpp"
#include "triage/attempt.hpp"
#include "triage/detail/shell_word.hpp"
#include "triage/record.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace triage::inline v0_1 {
namespace {

constexpr std::array<std::pair<EffectSemantics, std::string_view>, 3> semantics_names{
    {{EffectSemantics::at_most_once, "at_most_once"},
     {EffectSemantics::at_least_once, "at_least_once"},
     {EffectSemantics::idempotent, "idempotent"}}};

// Larger numbers are not exact as doubles.
constexpr double largest_exact = 9007199254740992.0;

// Equal values give equal bytes: the type sorts keys, and numbers are integers where possible.
Json canonical(const Json& value) {
  switch (value.type()) {
    case Json::value_t::number_float: {
      const auto number = value.get<double>();
      if (std::trunc(number) == number && std::abs(number) <= largest_exact) {
        return static_cast<std::int64_t>(number);
      }
      return value;
    }
    case Json::value_t::array: {
      Json out = Json::array();
      for (const Json& element : value) out.push_back(canonical(element));
      return out;
    }
    case Json::value_t::object: {
      Json out = Json::object();
      for (const auto& [key, element] : value.items()) out[key] = canonical(element);
      return out;
    }
    default: return value;
  }
}

bool has_float(const Json& value) {
  if (!value.is_structured()) return value.is_number_float();
  return std::any_of(value.begin(), value.end(), has_float);
}

}  // namespace

Error detail::unreadable_effect(std::string_view key) {
  return {Errc::conflict,
          "the recorded result of effect \"" + printable(key) +
              "\" does not convert to the type that is asked for: " + current_exception_text()};
}

std::string_view to_string(EffectSemantics semantics) noexcept {
  for (const auto& [value, name] : semantics_names) {
    if (value == semantics) return name;
  }
  return "unknown";
}

std::optional<EffectSemantics> parse_effect_semantics(std::string_view name) noexcept {
  for (const auto& [value, known] : semantics_names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

namespace detail {

std::string encoded_arguments(const Json& arguments) {
  std::string bytes;
  if (has_float(arguments)) {
    encode_cbor(canonical(arguments), bytes);
  } else {
    encode_cbor(arguments, bytes);  // As is: a canonical copy would cost most of the time.
  }
  return bytes;
}

std::string idempotency_key(const RunId& run, std::string_view key, std::uint64_t generation,
                            bool compensation) {
  std::string text(compensation ? "triage compensation" : "triage effect");
  text += '\0';
  text += run;  // Run ids and numbers contain no zero byte, so the parts stay distinct.
  text += '\0';
  text += std::to_string(generation);
  text += '\0';
  text += key;
  return digest(text);
}

std::string effect_name(std::string_view key) { return "effect \"" + printable(key) + "\""; }

Error doubt_about(std::string_view key, const std::string& why, const RunId& run) {
  std::string reason = effect_name(key) + ": " + why;
  Error error{Errc::in_doubt, reason};
  ErrorFacts::because(error, std::move(reason));
  ErrorFacts::doubt(error, std::string(key));
  std::string advice = "find out whether it happened before going on";
  if (!run.empty()) {
    advice += ", and record it: triage settle " + run + " " + detail::shell_word(std::string(key)) +
              " done|not-done";
  }
  ErrorFacts::advise(error, std::move(advice));
  return error;
}

// Why waiting for the key would never end. The threads that wait for each other form no circle yet,
// because each of them asked this before it waited.
std::optional<Error> EffectTurns::never_free(std::string_view key) const {
  const std::thread::id self = std::this_thread::get_id();
  auto running = running_.find(key);
  if (running != running_.end() && running->second == self) {
    return Error{
        Errc::invalid_argument,
        effect_name(key) + " is running and asks for itself; give the inner effect another key"};
  }
  while (running != running_.end()) {
    if (running->second == self) {
      return Error{Errc::invalid_argument,
                   effect_name(key) + " is running on another thread, which waits for " +
                       effect_name(running->first) +
                       " of this one; nest effects in the same order on all threads"};
    }
    const auto next = waiting_.find(running->second);
    if (next == waiting_.end()) break;
    running = running_.find(next->second);
  }
  return std::nullopt;
}

Result<void> EffectTurns::enter(std::string_view key) {
  const std::thread::id self = std::this_thread::get_id();
  std::unique_lock lock(mutex_);
  while (running_.contains(key)) {
    if (auto why = never_free(key)) return *std::move(why);
    waiting_.emplace(self, key);
    left_.wait(lock);
    waiting_.erase(self);
  }
  running_.emplace(key, self);
  return outcome::success();
}

void EffectTurns::leave(std::string_view key) {
  {
    const std::scoped_lock lock(mutex_);
    running_.erase(running_.find(key));
  }
  left_.notify_all();
}

bool ProvenArguments::contains(std::string_view key, std::string_view encoded,
                               std::string_view digest) const {
  if (encoded.empty()) return digest.empty();
  const auto found = entries_.find(key);
  return found != entries_.end() && found->second.digest == digest &&
         found->second.encoded == encoded;
}

void ProvenArguments::add(std::string_view key, std::string encoded, const std::string& digest) {
  constexpr std::size_t longest = 1'024;
  constexpr std::size_t most = 256;
  if (encoded.empty() || encoded.size() > longest || entries_.size() >= most) return;
  entries_.insert_or_assign(std::string(key), Entry{std::move(encoded), digest});
}

}  // namespace detail

}  // namespace triage::inline v0_1
