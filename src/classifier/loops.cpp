// SPDX-License-Identifier: MIT
#include "classifier/loops.hpp"

#include <cmath>
#include <functional>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

// One recorded tool call. The hash is made when first compared: most names differ already.
struct Call {
  std::size_t index;
  const Step* step;
  std::optional<std::uint64_t> input_hash{};
};

std::uint64_t mixed(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t bits = seed ^ (value + 0x9e3779b97f4a7c15U + (seed << 6U) + (seed >> 2U));
  bits = (bits ^ (bits >> 30U)) * 0xbf58476d1ce4e5b9U;  // SplitMix64's finaliser.
  bits = (bits ^ (bits >> 27U)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31U);
}

std::uint64_t text_hash(std::string_view text) { return std::hash<std::string_view>{}(text); }

std::uint64_t number_hash(const Json& value) {
  if (value.is_number_unsigned()) return mixed(3, value.get<std::uint64_t>());
  if (value.is_number_integer()) {
    return mixed(3, static_cast<std::uint64_t>(value.get<std::int64_t>()));
  }
  const double number = value.get<double>();
  constexpr double exact = 9007199254740992.0;  // 2^53: whole numbers up to here are exact.
  if (std::abs(number) <= exact && number == std::floor(number)) {
    return mixed(3, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
  }
  return mixed(4, std::hash<double>{}(number));
}

// Deeper values than a step may hold are cut off, so that no value overflows the stack.
std::uint64_t hash_of(const Json& value, int depth) {
  switch (value.type()) {
    case Json::value_t::object: {
      std::uint64_t hash = mixed(6, value.size());
      if (depth == 0) return hash;
      for (auto it = value.begin(); it != value.end(); ++it) {  // Sorted by key.
        hash = mixed(mixed(hash, text_hash(it.key())), hash_of(it.value(), depth - 1));
      }
      return hash;
    }
    case Json::value_t::array: {
      std::uint64_t hash = mixed(7, value.size());
      if (depth == 0) return hash;
      for (const Json& element : value) hash = mixed(hash, hash_of(element, depth - 1));
      return hash;
    }
    case Json::value_t::string: return mixed(5, text_hash(value.get_ref<const std::string&>()));
    case Json::value_t::boolean: return mixed(2, value.get<bool>() ? 1 : 0);
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float: return number_hash(value);
    case Json::value_t::binary: {
      std::uint64_t hash = mixed(8, value.get_binary().size());
      for (const std::uint8_t byte : value.get_binary()) hash = mixed(hash, byte);
      return hash;
    }
    case Json::value_t::null:
    case Json::value_t::discarded: break;
  }
  return mixed(1, 0);
}

bool same(Call& a, Call& b) {
  if (*a.step->tool_called != *b.step->tool_called) return false;
  for (Call* call : {&a, &b}) {
    if (!call->input_hash) call->input_hash = canonical_hash(call->step->tool_input);
  }
  // 64 bits: two different inputs of one run collide once in about 10^17 runs.
  return *a.input_hash == *b.input_hash;
}

bool is_call(const Step& step) { return step.tool_called && !step.tool_called->empty(); }

// calls[0] is the newest.
bool repeats(std::vector<Call>& calls, std::size_t period, std::size_t repetitions) {
  if (calls.size() < period * repetitions) return false;
  for (std::size_t i = 0; i + period < period * repetitions; ++i) {
    if (!same(calls[i], calls[i + period])) return false;
  }
  return true;
}

std::vector<Call> newest_calls(const Trajectory& trajectory, std::size_t oldest, std::size_t most) {
  std::vector<Call> calls;
  calls.reserve(std::min(most, trajectory.size()));
  // Calls further apart than this do not make a loop; it bounds the walk over tool-less steps.
  std::size_t steps_left = 64 * most;
  visit_newest_first(trajectory, oldest, [&](std::size_t index, const Step& step) {
    if (is_call(step)) calls.push_back({index, &step});
    return calls.size() < most && --steps_left > 0;
  });
  return calls;
}

// Follows the repetition back to where it began.
Loop followed(const Trajectory& trajectory, std::size_t oldest, std::size_t period,
              std::vector<Call> calls) {
  std::size_t length = period;
  const auto extend = [&] {
    while (length < calls.size() && same(calls[length - period], calls[length])) ++length;
    return length == calls.size();
  };
  if (extend()) {
    const std::size_t before = calls.back().index;
    visit_newest_first(trajectory, oldest, [&](std::size_t index, const Step& step) {
      if (index >= before || !is_call(step)) return true;
      calls.push_back({index, &step});
      return extend();
    });
  }
  Loop loop;
  loop.calls = length;
  loop.first_step = calls[length - 1].index;
  for (std::size_t i = 0; i < period; ++i) loop.steps.push_back(calls[length - 1 - i].index);
  return loop;
}

}  // namespace

std::uint64_t canonical_hash(const Json& value) { return hash_of(value, max_json_depth); }

std::optional<Loop> find_loop(const Trajectory& trajectory, std::size_t oldest,
                              std::size_t repetitions, std::size_t longest_period) {
  if (trajectory.size() < oldest + repetitions) return std::nullopt;
  std::vector<Call> calls = newest_calls(trajectory, oldest, repetitions * longest_period);
  for (std::size_t period = 1; period <= longest_period; ++period) {
    if (repeats(calls, period, repetitions)) {
      return followed(trajectory, oldest, period, std::move(calls));
    }
  }
  return std::nullopt;
}

}  // namespace triage::inline v0_1::detail
