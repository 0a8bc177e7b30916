// SPDX-License-Identifier: MIT
#include "supervise/spec/spec.hpp"

#include "triage/policies/duration.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string_view>

namespace triage::inline v0_1::supervise {
namespace {

// Rounded up, because 0 means that there is no limit.
std::int64_t milliseconds_of(Duration length) {
  return std::chrono::ceil<std::chrono::milliseconds>(length).count();
}

void read(const Json& task, const char* key, Duration& value) {
  value = std::chrono::milliseconds(task.value(key, milliseconds_of(value)));
}

// What a part of a budget may be, as a continuation of "allowed".
std::string_view allowed_as(std::string_view name) {
  if (name == "tokens") return "is tokens=N, a whole number above 0";
  if (name == "calls") return "is calls=N, a whole number above 0";
  if (name == "usd") return "is usd=N, a number above 0 and below 1000000000000";
  if (name == "time") return "is time=LENGTH, above 0, as in time=2h";
  return "are tokens=N, usd=N, calls=N and time=LENGTH, as in tokens=200000,time=2h";
}

}  // namespace

Result<RunBudget> parse_budget(std::string_view text) {
  const auto whole = [](const std::string& digits, std::uint64_t& number) {
    const char* last = digits.data() + digits.size();
    const auto [end, problem] = std::from_chars(digits.data(), last, number);
    return problem == std::errc() && end == last && number > 0;
  };
  RunBudget budget;
  std::set<std::string_view> names;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    if (!names.insert(name).second) {
      return Error{Errc::invalid_argument,
                   "\"" + printable(name) + "\" is given twice in the budget"};
    }
    const std::string value(equals == std::string_view::npos ? "" : part.substr(equals + 1));
    bool fits = !value.empty() && value.front() != '-';
    if (name == "tokens" && fits) {
      fits = whole(value, budget.tokens);
    } else if (name == "calls" && fits) {
      fits = whole(value, budget.calls);
    } else if (name == "usd" && fits) {
      char* read_to = nullptr;
      budget.cost_usd = std::strtod(value.c_str(), &read_to);
      fits = *read_to == '\0' && budget.cost_usd > 0 && budget.cost_usd < 1e12;
    } else if (name == "time" && fits) {
      const auto time = parse_duration(value);
      fits = time && time.value() > Duration::zero();
      if (fits) budget.time = time.value();
    } else {
      fits = false;
    }
    if (fits) continue;
    return Error{Errc::invalid_argument, "\"" + printable(part) +
                                             "\" is not part of a budget; allowed " +
                                             std::string(allowed_as(name))};
  }
  return outcome::success(budget);
}

RunBudget over(const RunBudget& given, const RunBudget& otherwise) {
  RunBudget both = given;
  if (both.tokens == 0) both.tokens = otherwise.tokens;
  if (both.cost_usd <= 0) both.cost_usd = otherwise.cost_usd;
  if (both.calls == 0) both.calls = otherwise.calls;
  if (both.time <= Duration::zero()) both.time = otherwise.time;
  return both;
}

std::string program_name(const RunSpec& spec) {
  return std::filesystem::path(spec.command.front()).filename().string();
}

std::string version_of(const RunSpec& spec, std::string_view adapter) {
  return printable(program_name(spec)) + " " + (adapter.empty() ? "generic" : printable(adapter)) +
         " protocol-" + std::to_string(protocol_version);
}

bool is_of_command(const RunSpec& spec, const std::vector<std::string>& command) {
  if (program_name(spec) != program_name({.command = command})) return false;
  return command.size() == 1 || std::equal(spec.command.begin() + 1, spec.command.end(),
                                           command.begin() + 1, command.end());
}

Json to_json(const RunSpec& spec) {
  return Json{{"command", spec.command},
              {"folder", spec.folder},
              {"timeout_ms", milliseconds_of(spec.timeout)},
              {"idle_timeout_ms", milliseconds_of(spec.idle_timeout)},
              {"kill_after_ms", milliseconds_of(spec.kill_after)},
              {"max_attempts", spec.max_attempts},
              {"start_ups", spec.start_ups},
              {"policy", spec.policy},
              {"adapter", spec.adapter},
              {"session", spec.session},
              {"workspace", spec.workspace},
              {"memory_bytes", spec.limits.memory_bytes},
              {"cpu_seconds", spec.limits.cpu_seconds},
              {"open_files", spec.limits.open_files},
              {"contract", spec.contract},
              {"guard", spec.guard},
              {"budget_tokens", spec.budget.tokens},
              {"budget_usd", spec.budget.cost_usd},
              {"budget_calls", spec.budget.calls},
              {"budget_time_ms", milliseconds_of(spec.budget.time)},
              {"max_wait_ms", milliseconds_of(spec.max_wait)},
              {"redact", spec.redact},
              {"redact_patterns", spec.redact_patterns}};
}

Result<RunSpec> spec_from_json(const Json& task) {
  RunSpec spec;
  try {
    spec.command = task.at("command").get<std::vector<std::string>>();
    spec.folder = task.at("folder").get<std::string>();
    read(task, "timeout_ms", spec.timeout);
    read(task, "idle_timeout_ms", spec.idle_timeout);
    read(task, "kill_after_ms", spec.kill_after);
    spec.max_attempts = task.value("max_attempts", spec.max_attempts);
    spec.start_ups = task.value("start_ups", spec.start_ups);
    spec.policy = task.value("policy", "");
    spec.adapter = task.value("adapter", "");
    spec.session = task.value("session", "auto");
    spec.workspace = task.value("workspace", "");
    spec.limits.memory_bytes = task.value("memory_bytes", std::uint64_t{0});
    spec.limits.cpu_seconds = task.value("cpu_seconds", std::uint64_t{0});
    spec.limits.open_files = task.value("open_files", std::uint64_t{0});
    spec.contract = task.value("contract", "");
    spec.guard = task.value("guard", false);
    spec.budget.tokens = task.value("budget_tokens", std::uint64_t{0});
    spec.budget.cost_usd = task.value("budget_usd", 0.0);
    spec.budget.calls = task.value("budget_calls", std::uint64_t{0});
    read(task, "budget_time_ms", spec.budget.time);
    read(task, "max_wait_ms", spec.max_wait);
    spec.redact = task.value("redact", spec.redact);
    spec.redact_patterns = task.value("redact_patterns", spec.redact_patterns);
  } catch (const Json::exception&) {
    spec.command.clear();
  }
  if (spec.command.empty()) {
    return Error{Errc::corrupt, "the task of this run is not a command of `triage run`"};
  }
  return outcome::success(std::move(spec));
}

std::vector<std::string> differences(const Json& one, const Json& other) {
  std::vector<std::string> found;
  const Json none = to_json({});  // Fields missing from an older task have their defaults.
  const auto value = [&none](const Json& task, const std::string& key) {
    return task.is_object() && task.contains(key) ? task[key] : none[key];
  };
  for (const auto& [key, unused] : none.items()) {
    if (value(one, key) == value(other, key)) continue;
    std::string name = key.substr(0, key.find("_ms"));
    std::replace(name.begin(), name.end(), '_', ' ');
    found.push_back(std::move(name));
  }
  return found;
}

}  // namespace triage::inline v0_1::supervise
