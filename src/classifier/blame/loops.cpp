// SPDX-License-Identifier: MIT
#include "classifier/blame/loops.hpp"

#include "evidence/findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

namespace triage::inline v0_1::detail {
namespace {

// Models repeat shorter texts ("Done.") legitimately.
constexpr std::size_t least_words_bytes = 20;
constexpr std::size_t interrupted_steps_searched = 96;
constexpr std::size_t most_agents_tried = 8;

// A recorded tool call, or something the model said. Hashed on first comparison only: most names
// differ already.
struct Call {
  std::size_t index;
  const Step* step;
  const std::string* heard = nullptr;  // Used as its input if it has none: what was said to it.
  std::optional<std::uint64_t> hash{};
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
  constexpr double exact = 9007199254740992.0;  // 2^53: integers up to here are exact.
  if (std::abs(number) <= exact && number == std::floor(number)) {
    return mixed(3, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
  }
  return mixed(4, std::hash<double>{}(number));
}

// Members that differ in every answer, whatever its content.
bool changes_by_itself(std::string_view key) {
  constexpr std::array<std::string_view, 10> keys{
      "timestamp", "request_id", "requestId",   "trace_id",   "took",
      "took_ms",   "elapsed_ms", "duration_ms", "latency_ms", "date"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Values deeper than a step may hold are cut off, so that none can overflow the stack.
std::uint64_t hash_of(const Json& value, int depth, bool result) {
  switch (value.type()) {
    case Json::value_t::object: {
      std::uint64_t hash = mixed(6, value.size());
      if (depth == 0) return hash;
      for (auto it = value.begin(); it != value.end(); ++it) {  // Sorted by key.
        if (result && changes_by_itself(it.key())) continue;
        hash = mixed(mixed(hash, text_hash(it.key())), hash_of(it.value(), depth - 1, result));
      }
      return hash;
    }
    case Json::value_t::array: {
      std::uint64_t hash = mixed(7, value.size());
      if (depth == 0) return hash;
      for (const Json& element : value) {
        hash = mixed(hash, hash_of(element, depth - 1, result));
      }
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

bool is_call(const Step& step) { return step.tool_called && !step.tool_called->empty(); }

bool has_result(const Step& step) { return !step.tool_output.is_null() || step_failed(step); }

std::uint64_t code_hash(const std::optional<int>& code) {
  return code ? mixed(9, static_cast<std::uint64_t>(*code)) : 0;
}

std::string_view view_of(const std::optional<std::string>& text) {
  return text ? std::string_view(*text) : std::string_view();
}

std::uint64_t hash_of(const Step& step) {
  if (!is_call(step)) return mixed(10, text_hash(view_of(step.llm_output)));
  std::uint64_t hash = mixed(11, canonical_hash(step.tool_input));
  if (!has_result(step)) return hash;
  hash = mixed(hash, hash_of(step.tool_output, max_json_depth, true));
  hash = mixed(hash, text_hash(view_of(step.error)));
  hash = mixed(hash, text_hash(view_of(step.exception_type)));
  hash = mixed(hash, code_hash(step.http_status));
  return mixed(mixed(hash, code_hash(step.json_rpc_code)), code_hash(step.grpc_status));
}

// An empty input counts as none.
bool has_input(const Step& step) {
  const Json& input = step.tool_input;
  if (input.is_null()) return false;
  return input.is_string() ? !input.get_ref<const std::string&>().empty() : !input.empty();
}

// Whether there is more to compare than a tool's name.
bool is_known(const Step& step) { return !is_call(step) || has_input(step) || has_result(step); }

bool same(Call& a, Call& b) {
  if (is_call(*a.step) != is_call(*b.step)) return false;
  if (!is_known(*a.step) || !is_known(*b.step)) return false;
  if (is_call(*a.step) && *a.step->tool_called != *b.step->tool_called) return false;
  if (has_result(*a.step) != has_result(*b.step)) return false;
  if ((a.heard == nullptr) != (b.heard == nullptr)) return false;
  if (a.heard != nullptr && *a.heard != *b.heard) return false;
  for (Call* call : {&a, &b}) {
    if (!call->hash) call->hash = hash_of(*call->step);
  }
  // 64-bit hashes: two different calls of one run collide once in about 10^17 runs.
  return *a.hash == *b.hash;
}

// Which steps are considered.
struct View {
  bool words = false;                  // Also what the model says.
  const std::string* agent = nullptr;  // Only this agent's steps.

  [[nodiscard]] bool shows(const Step& step) const {
    if (agent != nullptr && step.agent_id != *agent) return false;
    return is_call(step) ||
           (words && step.llm_output && step.llm_output->size() >= least_words_bytes);
  }
};

// How many times a period must occur to be a loop.
struct Repetitions {
  std::size_t all = 3;          // Complete periods, if results are unknown.
  std::size_t with_result = 2;  // Complete periods plus one call, if they are known.
};

// Steps are visited newest first, so a step without a call may be the input of the call after it: a
// call that runs another agent's words, or code written in words, has no input of its own.
void hear(std::size_t index, const Step& step, std::vector<Call>& calls) {
  if (calls.empty() || is_call(step) || !step.llm_output) return;
  Call& call = calls.back();
  if (call.index != index + 1 || !is_call(*call.step) || has_input(*call.step)) return;
  const std::string& said = *step.llm_output;
  const bool code = said.find("```") != std::string::npos;
  if (code || call.step->agent_id != step.agent_id) call.heard = &said;
}

// calls[0] is the newest.
bool repeats(std::vector<Call>& calls, std::size_t period, const Repetitions& wanted) {
  const std::size_t sure = period * wanted.with_result + 1;
  const bool known = calls.size() >= sure &&
                     std::all_of(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(sure),
                                 [](const Call& call) { return has_result(*call.step); });
  const std::size_t length = known ? sure : period * wanted.all;
  if (calls.size() < length) return false;
  for (std::size_t i = 0; i + period < length; ++i) {
    if (!same(calls[i], calls[i + period])) return false;
  }
  return true;
}

std::vector<Call> newest_calls(const Trajectory& trajectory, std::size_t oldest, const View& view,
                               std::size_t most, std::size_t steps_left) {
  std::vector<Call> calls;
  calls.reserve(std::min(most, trajectory.size()));
  visit_newest_first(trajectory, oldest, [&](std::size_t index, const Step& step) {
    hear(index, step, calls);
    if (calls.size() == most) return false;
    if (view.shows(step)) calls.push_back({index, &step});
    return --steps_left > 0;
  });
  return calls;
}

// Follows the repetition back to its beginning.
Loop followed(const Trajectory& trajectory, std::size_t oldest, const View& view,
              std::size_t period, std::vector<Call> calls) {
  std::size_t length = period;
  const auto extend = [&] {
    while (length < calls.size() && same(calls[length - period], calls[length])) ++length;
    return length == calls.size();
  };
  if (extend()) {
    const std::size_t before = calls.back().index;
    visit_newest_first(trajectory, oldest, [&](std::size_t index, const Step& step) {
      if (index >= before) return true;
      hear(index, step, calls);
      if (!view.shows(step)) return true;
      if (!extend()) return false;
      calls.push_back({index, &step});
      return true;
    });
    extend();
  }
  Loop loop;
  loop.calls = length;
  loop.first_step = calls[length - 1].index;
  const auto turn_end = calls.begin() + static_cast<std::ptrdiff_t>(period);
  loop.without_progress =
      std::all_of(calls.begin(), turn_end, [](const Call& call) { return has_result(*call.step); });
  loop.only_fails = std::all_of(calls.begin(), turn_end,
                                [](const Call& call) { return step_failed(*call.step); });
  loop.words_only =
      std::none_of(calls.begin(), turn_end, [](const Call& call) { return is_call(*call.step); });
  if (view.agent != nullptr) loop.agent = *view.agent;
  for (std::size_t i = 0; i < period; ++i) loop.steps.push_back(calls[length - 1 - i].index);
  return loop;
}

std::optional<Loop> find_in(const Trajectory& trajectory, std::size_t oldest, const View& view,
                            const Repetitions& wanted, std::size_t longest_period,
                            std::size_t steps) {
  std::vector<Call> calls =
      newest_calls(trajectory, oldest, view, wanted.all * longest_period, steps);
  for (std::size_t period = 1; period <= longest_period; ++period) {
    if (repeats(calls, period, wanted)) {
      return followed(trajectory, oldest, view, period, std::move(calls));
    }
  }
  return std::nullopt;
}

// The agents of the newest steps; empty if there is only one.
std::vector<const std::string*> agents_of(const Trajectory& trajectory, std::size_t oldest) {
  std::vector<const std::string*> agents;
  std::size_t steps_left = interrupted_steps_searched;
  visit_newest_first(trajectory, oldest, [&](std::size_t, const Step& step) {
    const bool known =
        !step.agent_id || std::any_of(agents.begin(), agents.end(), [&](const std::string* agent) {
          return *agent == *step.agent_id;
        });
    if (!known) agents.push_back(&*step.agent_id);
    return agents.size() < most_agents_tried && --steps_left > 0;
  });
  if (agents.size() < 2) agents.clear();
  return agents;
}

}  // namespace

std::uint64_t canonical_hash(const Json& value) { return hash_of(value, max_json_depth, false); }

std::optional<Loop> find_loop(const Trajectory& trajectory, std::size_t oldest,
                              std::size_t repetitions, std::size_t longest_period) {
  if (trajectory.size() < oldest + repetitions) return std::nullopt;
  const Repetitions wanted{.all = repetitions, .with_result = repetitions - 1};
  // Calls further apart do not form a loop; this bounds the walk over steps without tools.
  const std::size_t steps = 64 * repetitions * longest_period;
  if (auto loop = find_in(trajectory, oldest, {}, wanted, longest_period, steps)) return loop;
  // Other agents' work in between may change the answer, so asking a few more times is legitimate.
  const Repetitions interrupted{.all = SIZE_MAX / longest_period, .with_result = repetitions + 1};
  for (const std::string* agent : agents_of(trajectory, oldest)) {
    auto loop = find_in(trajectory, oldest, {.agent = agent}, interrupted, longest_period,
                        interrupted_steps_searched);
    if (loop) return loop;
  }
  return find_in(trajectory, oldest, {.words = true}, wanted, longest_period, steps);
}

}  // namespace triage::inline v0_1::detail
