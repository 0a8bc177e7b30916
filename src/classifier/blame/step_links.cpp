// SPDX-License-Identifier: MIT
#include "classifier/blame/step_links.hpp"

#include "classifier/blame/loops.hpp"
#include "evidence/findings.hpp"
#include "search/find_text.hpp"

#include <algorithm>
#include <map>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_values = 64;                 // Per input or output.
constexpr std::size_t least_text = 4;                   // Shorter texts are words such as "id".
constexpr std::size_t longest_searched = 4U << 10U;     // Longer texts contain anything.
constexpr std::size_t most_members = 4096;              // Read per input or output.
constexpr std::size_t most_members_in_all = 1U << 17U;  // Of all inputs and outputs.
constexpr std::size_t longest_key = 256;                // Longer ones are not names.
constexpr std::size_t most_bytes_searched = 4U << 20U;  // For values inside longer texts, in total.
constexpr std::int64_t least_number = 1000;
constexpr int deepest = 6;

bool says_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.empty() || text == "null" || text == "None" || text == "undefined" || text == "NaN";
}

std::string_view name_of(const std::string& key) {
  return key.size() <= longest_key ? std::string_view(key) : std::string_view();
}

// Calls leaf(value, key, depth) for each scalar in a JSON value, until it returns false or
// `members_left` members were visited.
template <class Leaf>
class LeafWalk {
 public:
  LeafWalk(std::size_t& members_left, Leaf leaf)
      : members_left_(members_left), leaf_(std::move(leaf)) {}

  void visit(const Json& value, std::string_view key, int depth) {
    if (stopped_ || members_left_ == 0 || depth > deepest) return;
    --members_left_;
    if (value.is_object()) {
      for (auto it = value.begin(); it != value.end() && members_left_ > 0; ++it) {
        visit(it.value(), name_of(it.key()), depth + 1);
      }
    } else if (value.is_array()) {
      for (auto it = value.begin(); it != value.end() && members_left_ > 0; ++it) {
        visit(*it, key, depth + 1);
      }
    } else {
      stopped_ = !leaf_(value, key, depth);
    }
  }

 private:
  std::size_t& members_left_;
  Leaf leaf_;
  bool stopped_ = false;
};

void keep(std::vector<StepValue>& values, const Json& value, StepValue kept) {
  if (values.size() >= most_values) return;
  kept.hash = canonical_hash(value);
  const bool known = std::any_of(values.begin(), values.end(), [&](const StepValue& one) {
    return one.hash == kept.hash && one.key == kept.key;
  });
  if (!known) values.push_back(std::move(kept));
}

// Collects values that may link steps. Returns the number of bytes in texts.
std::size_t collect_values(const Json& root, std::size_t& members_left,
                           std::vector<StepValue>& values) {
  std::size_t room = 0;
  LeafWalk walk(members_left, [&](const Json& value, std::string_view key, int) {
    if (value.is_string()) {
      const auto& text = value.get_ref<const std::string&>();
      room += text.size();
      const bool fits = text.size() >= least_text && text.size() <= longest_searched;
      if (fits && !says_nothing(value)) keep(values, value, {.key = key, .text = text});
    } else if (value.is_number_integer() && value.get<std::int64_t>() >= least_number) {
      keep(values, value, {.key = key});
    }
    return true;
  });
  walk.visit(root, {}, 0);
  return room;
}

// Collects keys of members whose values are empty.
void collect_hollow_keys(const Json& root, std::size_t& members_left,
                         std::vector<std::string_view>& keys) {
  LeafWalk walk(members_left, [&](const Json& value, std::string_view key, int depth) {
    if (depth > 0 && says_nothing(value)) keys.push_back(key);
    return keys.size() < most_values;
  });
  walk.visit(root, {}, 0);
}

bool is_false(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && !found->get<bool>();
}

// MCP's isError, {"ok": false}, {"error": …}, "Error: …".
bool tells_error(const Json& output) {
  if (output.is_string()) {
    const std::string_view text = output.get_ref<const std::string&>();
    return text.starts_with("Error") || text.starts_with("error:") ||
           text.starts_with("Traceback (");
  }
  if (!output.is_object()) return false;
  if (is_false(output, "ok") || is_false(output, "success")) return true;
  const auto flag = output.find("isError");
  if (flag != output.end() && flag->is_boolean() && flag->get<bool>()) return true;
  const auto error = output.find("error");
  return error != output.end() && !says_nothing(*error) &&
         !(error->is_boolean() && !error->get<bool>());
}

// Nothing was found: no element, no text, no number but 0. A very large value counts as something.
bool holds_nothing(const Json& value, int depth, std::size_t& members_left) {
  if (members_left == 0) return false;
  --members_left;
  if (value.is_object() || value.is_array()) {
    if (depth > deepest) return false;
    return std::all_of(value.begin(), value.end(), [&](const Json& member) {
      return holds_nothing(member, depth + 1, members_left);
    });
  }
  if (value.is_number()) return value.get<double>() == 0;
  return says_nothing(value);
}

std::vector<std::uint64_t> hashes_of(const std::vector<StepValue>& values) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(values.size());
  for (const StepValue& value : values) hashes.push_back(value.hash);
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace

StepLinks::StepLinks(const Trajectory& trajectory, std::size_t oldest) {
  read(trajectory, oldest);
  count_results();
  find_usual_members();
  find_givers();
  find_flaws();
  for (const StepFacts& step : steps_) {
    Tool& tool = tools_[step.tool];
    tool.answers = tool.answers || (!step.failed && step.flaw == Flaw::none);
  }
}

void StepLinks::read(const Trajectory& trajectory, std::size_t oldest) {
  std::size_t left = most_members_in_all;
  // Gives each value its share of the limit, and deducts what it used.
  const auto with_share = [&](auto use) {
    const std::size_t share = std::min(most_members, left);
    left -= share - use(share);
  };
  visit_newest_first(trajectory, oldest, [&](std::size_t index, const Step& step) {
    StepFacts facts{.index = index, .step = &step};
    facts.is_call = step.tool_called && !step.tool_called->empty();
    facts.failed = step_failed(step);
    facts.room = step.llm_output ? step.llm_output->size() : 0;
    with_share([&](std::size_t share) {
      collect_values(step.tool_input, share, facts.taken);
      return share;
    });
    with_share([&](std::size_t share) {
      facts.room += collect_values(step.tool_output, share, facts.given);
      return share;
    });
    with_share([&](std::size_t share) {
      collect_hollow_keys(step.tool_input, share, facts.hollow_keys);
      return share;
    });
    with_share([&](std::size_t share) {
      facts.empty_result = holds_nothing(step.tool_output, 0, share);
      return share;
    });
    facts.hollow = !facts.hollow_keys.empty();
    facts.taken_hashes = hashes_of(facts.taken);
    steps_.push_back(std::move(facts));
    return steps_.size() < newest_steps_read;
  });
  std::reverse(steps_.begin(), steps_.end());
  const bool some_failed = std::any_of(steps_.begin(), steps_.end(), [](const StepFacts& step) {
    return step.failed || tells_error(step.step->tool_output);
  });
  for (StepFacts& step : steps_) {  // Only failed calls are compared.
    if (some_failed && step.is_call) step.input_hash = canonical_hash(step.step->tool_input);
  }
  std::map<std::string_view, std::size_t> numbers;
  for (StepFacts& step : steps_) {
    const std::string_view name = step.is_call ? std::string_view(*step.step->tool_called) : "";
    step.tool = numbers.try_emplace(name, numbers.size()).first->second;
  }
  tools_.resize(numbers.size());
  for (Tool& tool : tools_) tool.feeds.assign(tools_.size(), false);
}

void StepLinks::count_results() {
  for (const StepFacts& step : steps_) {
    if (!step.is_call || step.failed) continue;
    const Json& result = step.step->tool_output;
    Tool& tool = tools_[step.tool];
    ++tool.calls;
    tool.empty += step.empty_result ? 1U : 0U;
    if (result.is_null()) continue;
    ++tool.results;
    ++results_;
    if (!result.is_object()) continue;
    ++tool.objects;
    ++objects_;
    std::size_t left = most_values;
    for (auto it = result.begin(); it != result.end() && left-- > 0; ++it) {
      if (!says_nothing(it.value()) && it.key().size() <= longest_key) ++tool.members[it.key()];
    }
  }
}

// There are few: each result adds a limited number of members, and a usual one is in most results.
void StepLinks::find_usual_members() {
  for (Tool& tool : tools_) {
    for (const auto& [member, count] : tool.members) {
      if (tool.results > 1 && 2 * count > tool.results - 1) tool.usual.emplace_back(member);
    }
  }
}

// Finds the earlier steps with a longer text that contains the value.
void StepLinks::search_texts(std::size_t position, StepValue& value,
                             std::size_t& bytes_left) const {
  if (value.text.empty() || bytes_left <= value.text.size()) return;
  bytes_left -= value.text.size();
  const TextFinder finder(value.text);
  for (std::size_t earlier = 0; earlier < position; ++earlier) {
    for (const StepValue& text : steps_[earlier].given) {
      if (bytes_left == 0) return;
      --bytes_left;  // Each text costs something, even if skipped.
      if (text.text.size() <= value.text.size() || text.text.size() > bytes_left) continue;
      bytes_left -= text.text.size();
      if (!finder.is_in(text.text)) continue;
      value.givers.push_back(static_cast<std::uint16_t>(earlier));
      break;
    }
  }
}

void StepLinks::find_givers() {
  std::multimap<std::uint64_t, std::size_t> given;  // By hash: positions.
  std::size_t bytes_left = most_bytes_searched;
  for (std::size_t position = 0; position < steps_.size(); ++position) {
    StepFacts& step = steps_[position];
    for (StepValue& value : step.taken) {
      const auto [begin, end] = given.equal_range(value.hash);
      for (auto it = begin; it != end; ++it) {
        value.givers.push_back(static_cast<std::uint16_t>(it->second));
      }
      search_texts(position, value, bytes_left);
      for (const std::uint16_t giver : value.givers) {
        if (!steps_[giver].is_call) continue;
        tools_[steps_[giver].tool].feeds[step.tool] = true;
        tools_[step.tool].fed = true;
      }
    }
    for (const StepValue& value : step.given) {
      const auto [begin, end] = given.equal_range(value.hash);  // In the order they were added.
      if (begin == end || std::prev(end)->second != position) given.emplace(value.hash, position);
    }
  }
}

bool StepLinks::should_give(const StepFacts& step, std::string_view key) const {
  return step.is_call && tools_[step.tool].members.contains(key);
}

bool StepLinks::feeds(std::size_t tool, std::size_t later_tool) const {
  return tools_[tool].feeds[later_tool];
}

bool StepLinks::is_aside(const StepFacts& step) const {
  const Tool& tool = tools_[step.tool];
  if (!step.is_call || results_ == 0 || tool.fed || !tool.answers) return false;
  return std::none_of(tool.feeds.begin(), tool.feeds.end(), [](bool feeds) { return feeds; });
}

bool StepLinks::is_fed(const StepFacts& step) {
  return std::any_of(step.taken.begin(), step.taken.end(),
                     [](const StepValue& value) { return !value.givers.empty(); });
}

// The failed call was repeated with success, corrected, or directly done by another tool.
bool StepLinks::made_up_for(std::size_t position) const {
  const StepFacts& failed = steps_[position];
  if (!failed.is_call) return false;
  bool direct = true;
  for (std::size_t i = position + 1; i < steps_.size(); ++i) {
    const StepFacts& later = steps_[i];
    if (!later.is_call) continue;
    const bool same_tool = later.tool == failed.tool;
    if (!later.failed && !tells_error(later.step->tool_output) && (same_tool || direct)) {
      if (later.input_hash == failed.input_hash) return true;
      if (!failed.taken.empty() &&
          std::includes(later.taken_hashes.begin(), later.taken_hashes.end(),
                        failed.taken_hashes.begin(), failed.taken_hashes.end())) {
        return true;
      }
    }
    if (!same_tool || !later.failed) direct = false;
  }
  return false;
}

// The result lacks what most results of its tool have. A tool's only result stands out if it is
// markup while most results of the run are data.
bool StepLinks::stands_out(const StepFacts& step) const {
  const Json& output = step.step->tool_output;
  const Tool& tool = tools_[step.tool];
  const std::size_t others = tool.results - 1;
  if (others == 0) {
    return output.is_string() && output.get_ref<const std::string&>().starts_with('<') &&
           2 * objects_ > results_ - 1;
  }
  const std::size_t objects = tool.objects - (output.is_object() ? 1U : 0U);
  if (2 * objects <= others) return false;
  if (!output.is_object()) return true;
  return std::any_of(tool.usual.begin(), tool.usual.end(), [&](const std::string& member) {
    const auto found = output.find(member);
    return found == output.end() || says_nothing(*found);
  });
}

void StepLinks::find_flaws() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    StepFacts& step = steps_[i];
    const Json& output = step.step->tool_output;
    const Tool& tool = tools_[step.tool];
    if (step.failed) {
      step.flaw = made_up_for(i) ? Flaw::none : Flaw::failed;
    } else if (!step.is_call) {
      continue;
    } else if (tells_error(output)) {
      step.flaw = made_up_for(i) ? Flaw::none : Flaw::error_like;
    } else if (output.is_null()) {
      // Many tools return nothing; it is a flaw only if this tool's other calls return something.
      if (tool.results > 0) step.flaw = Flaw::empty;
    } else if (step.empty_result) {
      // Some tools usually find nothing, such as a check without complaints.
      const bool usual = tool.empty > 1 && 2 * tool.empty >= tool.calls;
      if (!usual) step.flaw = Flaw::empty;
    } else if (stands_out(step)) {
      step.flaw = Flaw::odd;
    }
  }
}

}  // namespace triage::inline v0_1::detail
