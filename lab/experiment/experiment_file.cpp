// SPDX-License-Identifier: MIT
#include "triage/lab/experiment_file.hpp"

#include "lab/base/json_fields.hpp"
#include "lab/experiment/problem_paths.hpp"
#include "lab/scripted/scripted_trial.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/nearest.hpp"
#include "triage/detail/problems.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

namespace triage::inline v0_1::lab {

struct ScriptedExperiment::Parts {
  std::string name{};
  std::string about{};
  std::string fingerprint{};
  ExperimentOptions options{};
  std::vector<std::unique_ptr<detail::ScriptedTrial>> trials{};  // By index of condition.
};

namespace {

constexpr std::size_t most_listed_conditions = 10'000;

// The parts of a condition before its agent is parsed.
struct Draft {
  Json agent = Json::object();
  detail::ScriptedSetup setup{};
};

// A factor, and what each of its levels changes.
struct DraftFactor {
  std::string name{};
  std::vector<std::string> levels{};
  std::vector<std::function<void(Draft&)>> changes{};

  void add(std::string level, std::function<void(Draft&)> change) {
    levels.push_back(std::move(level));
    changes.push_back(std::move(change));
  }
};

std::string level_text(const Json& value) {
  return value.is_string() ? value.get<std::string>() : show(value);
}

struct Level {
  std::string name{};
  Json value{};
  std::string path{};
};

class Reader {
 public:
  Reader(const Json& json, const ReadPolicyFile& read_policy, const MakeStore& make_store)
      : fields_(json, ""), read_policy_(read_policy) {
    draft_.setup.make_store = make_store;
  }

  Result<std::shared_ptr<ScriptedExperiment::Parts>> read();
  // Of everything read.
  [[nodiscard]] std::string fingerprint(const Json& json) const;

 private:
  void problem(const std::string& what) { triage::detail::add_problems(problems_, what); }
  void read_head();
  void read_policies();
  std::vector<Level> levels_of(const std::string& key, const Json& section, const char* wanted);
  void read_policy(DraftFactor& factor, Level level);
  template <class T>
  void read_section(const char* key, const char* factor_name, const char* wanted,
                    Result<T> (*read_level)(const Json&, const std::string&),
                    T detail::ScriptedSetup::*member);
  void read_vary();
  void read_varied(const std::string& key, const Json& values);
  void add_factor(DraftFactor factor, const std::string& key);
  void drop_lone_policy(const std::string& compare);
  void check_compare(const std::string& name);
  void put_first(const std::string& name);
  void make_trials();

  detail::JsonFields fields_;
  const ReadPolicyFile& read_policy_;
  std::string problems_{};
  std::set<std::string, std::less<>> told_{};  // Problems of the agent: each once.
  std::shared_ptr<ScriptedExperiment::Parts> parts_ = std::make_shared<ScriptedExperiment::Parts>();
  Draft draft_{};
  std::vector<DraftFactor> factors_{};
  Json documents_ = Json::object();  // Of policies: part of the fingerprint.
};

void Reader::read_head() {
  fields_.read("experiment", parts_->name);
  if (parts_->name.empty()) fields_.refuse("experiment", " is missing; allowed is a name");
  if (parts_->name.size() > 100 || !check_run_id(parts_->name)) {
    fields_.refuse("experiment", " is \"" + printable(parts_->name) +
                                     "\"; allowed are 1 to 100 of A-Z a-z 0-9 . _ : -");
  }
  fields_.read("about", parts_->about);
  ExperimentOptions& options = parts_->options;
  fields_.read("seeds", options.seeds, 1, most_seeds);
  fields_.read("first_seed", options.first_seed);
  fields_.read("real_time", draft_.setup.real_time);
  const Json* agent = fields_.find("agent");
  if (agent == nullptr) return;
  draft_.agent = *agent;
  auto known = detail::agent_from_json(*agent, "agent");
  if (known) {
    draft_.setup.agent = std::move(known).value();
  } else {
    problem(known.error().detail);
    triage::detail::for_each_line(known.error().detail,
                                  [&](std::string_view line) { told_.emplace(line); });
  }
}

// The levels of a section in file order: a name, or {name: value}.
std::vector<Level> Reader::levels_of(const std::string& key, const Json& section,
                                     const char* wanted) {
  std::vector<Level> levels;
  if (!section.is_array() || section.empty()) {
    problem(key + " is " + detail::shown(section) + "; allowed is a list of one or more " + wanted);
    return levels;
  }
  for (std::size_t i = 0; i < section.size(); ++i) {
    const Json& one = section[i];
    const std::string path = key + "[" + std::to_string(i) + "]";
    if (one.is_string()) {
      levels.push_back({one.get<std::string>(), one, path});
    } else if (one.is_object() && one.size() == 1) {
      levels.push_back({one.begin().key(), one.front(), path + "." + one.begin().key()});
    } else {
      problem(path + " is " + detail::shown(one) + "; allowed is " + wanted);
    }
  }
  return levels;
}

void Reader::read_policy(DraftFactor& factor, Level level) {
  Json document = level.value;
  if (document.is_string()) {
    const auto text = document.get<std::string>();
    if (const auto known = detail::baseline(text)) {
      return factor.add(
          level.name, [policy = *known](Draft& draft) { draft.setup.policy = {.policy = policy}; });
    }
    const std::filesystem::path file(text);
    const auto kind = file.extension();
    if (kind != ".yaml" && kind != ".yml" && kind != ".json") {
      return problem(level.path + " is \"" + printable(text) + "\"; allowed are " +
                     triage::detail::joined(detail::baseline_names()) +
                     ", a file (.yaml, .yml, .json) and a policy document");
    }
    auto loaded = read_policy_(text);
    if (!loaded) return problem(detail::behind(level.path + ": ", loaded.error().detail));
    document = std::move(loaded).value();
    if (level.name == text) level.name = file.stem().string();
  }
  auto checked = document_from_json(document, built_in_strategies());
  if (!checked) {
    return problem(detail::behind(level.path + ".", checked.error().detail));
  }
  documents_[level.name] = document;
  factor.add(level.name,
             [policy = detail::ScriptedPolicy{std::move(checked).value().policy, document}](
                 Draft& draft) { draft.setup.policy = policy; });
}

void Reader::read_policies() {
  const char* const wanted =
      "names (none, blind_retry, backoff_only, a file) or {name: policy document}";
  const Json* policies = fields_.find("policies");
  if (policies == nullptr) {
    return fields_.refuse("policies",
                          " is missing; allowed is a list of one or more " + std::string(wanted));
  }
  DraftFactor factor{.name = "policy"};
  for (Level& level : levels_of("policies", *policies, wanted)) {
    read_policy(factor, std::move(level));
  }
  add_factor(std::move(factor), "policies");
}

template <class T>
void Reader::read_section(const char* key, const char* factor_name, const char* wanted,
                          Result<T> (*read_level)(const Json&, const std::string&),
                          T detail::ScriptedSetup::*member) {
  const Json* section = fields_.find(key);
  if (section == nullptr) return;
  DraftFactor factor{.name = factor_name};
  for (const Level& one : levels_of(key, *section, wanted)) {
    auto level = read_level(one.value, one.path);
    if (!level) {
      problem(level.error().detail);
      continue;
    }
    factor.add(one.name, [member, level = std::move(level).value()](Draft& draft) {
      draft.setup.*member = level;
    });
  }
  add_factor(std::move(factor), key);
}

void Reader::read_varied(const std::string& key, const Json& values) {
  const std::string path = "vary." + printable(key);
  if (!key.starts_with("agent.")) {
    return problem(path + " is not a factor; allowed is agent. and a key of the agent, such as " +
                   "agent.recovers.right_hint; policies, faults, budgets and stores have keys of "
                   "their own");
  }
  if (!values.is_array() || values.empty()) {
    return problem(path + " is " + detail::shown(values) +
                   "; allowed is a list of one or more values");
  }
  const std::string place = key.substr(std::string_view("agent.").size());
  DraftFactor factor{.name = key};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Json value = values[i];
    Json changed = draft_.agent;
    if (!detail::set_at(changed, place, value)) return problem(path + " is not a key of the agent");
    const auto tried = detail::agent_from_json(changed, "agent");
    if (!tried) {
      const std::string value_path = path + "[" + std::to_string(i) + "]: ";
      triage::detail::for_each_line(tried.error().detail, [&](std::string_view line) {
        if (told_.emplace(line).second) problem(value_path + std::string(line));
      });
      continue;
    }
    // It was possible above, and no other key changes what this one leads through.
    factor.add(level_text(value), [place, value](Draft& draft) {
      static_cast<void>(detail::set_at(draft.agent, place, value));
    });
  }
  add_factor(std::move(factor), path);
}

void Reader::read_vary() {
  const Json* vary = fields_.find("vary");
  if (vary == nullptr) return;
  if (!vary->is_object() || vary->empty()) {
    return problem(
        "vary is " + detail::shown(*vary) +
        "; allowed is one or more keys, such as agent.steps, each with a list of values");
  }
  const auto& factors = vary->get_ref<const Json::object_t&>();
  for (const auto& [key, values] : factors) {
    const auto inner = factors.lower_bound(key + ".");
    if (inner != factors.end() && inner->first.starts_with(key + ".")) {
      problem("vary." + printable(key) + " is changed by vary." + printable(inner->first) +
              ", too; allowed is one of them");
    } else {
      read_varied(key, values);
    }
  }
}

// A factor with one level still applies, but distinguishes nothing. The policy is always named.
void Reader::add_factor(DraftFactor factor, const std::string& key) {
  if (factor.levels.empty()) return;  // Reported separately.
  std::vector<std::string> sorted = factor.levels;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return problem(key + " has \"" + printable(*twice) + "\" twice; allowed is each once");
  }
  if (factor.levels.size() == 1 && factor.name != "policy") return factor.changes[0](draft_);
  factors_.push_back(std::move(factor));
}

// A single policy distinguishes nothing if something else is compared.
void Reader::drop_lone_policy(const std::string& compare) {
  if (compare == "policy" || factors_.size() < 2 || factors_[0].levels.size() > 1) return;
  factors_[0].changes[0](draft_);
  factors_.erase(factors_.begin());
}

// Beside other mistakes, since which of these is a factor depends on them.
void Reader::check_compare(const std::string& name) {
  std::vector<std::string> names{"policy", "faults", "budget", "store"};
  if (const Json* vary = fields_.find("vary"); vary != nullptr && vary->is_object()) {
    for (const auto& [key, unused] : vary->items()) names.push_back(key);
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  problem("compare is \"" + printable(name) + "\"" + triage::detail::allowed_names(name, names));
}

void Reader::put_first(const std::string& name) {
  std::vector<std::string> names;
  for (const DraftFactor& factor : factors_) names.push_back(factor.name);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return problem("compare is \"" + printable(name) + "\"" +
                   triage::detail::allowed_names(name, names));
  }
  const auto at = factors_.begin() + (found - names.begin());
  std::rotate(factors_.begin(), at, at + 1);
}

void Reader::make_trials() {
  std::size_t count = 1;
  for (const DraftFactor& factor : factors_) {
    count *= factor.levels.size();
    if (count > most_listed_conditions) {
      return problem("the file has more than " + std::to_string(most_listed_conditions) +
                     " combinations, the most that are allowed");
    }
  }
  std::map<std::string, std::string> never;
  for (std::size_t i = 0; i < count; ++i) {
    Draft draft = draft_;
    std::size_t rest = i;
    for (std::size_t f = factors_.size(); f-- > 0;) {  // The last one changes fastest.
      const auto& changes = factors_[f].changes;
      changes[rest % changes.size()](draft);
      rest /= changes.size();
    }
    auto agent = detail::agent_from_json(draft.agent, "agent");
    if (!agent) return problem(agent.error().detail);  // Two incompatible changes.
    draft.setup.agent = std::move(agent).value();
    if (draft.setup.store > detail::StoreKind::immediate && !draft.setup.make_store) {
      return problem("stores: " + std::string(to_string(draft.setup.store)) +
                     " cannot be made here; allowed are none, deferred, immediate");
    }
    for (auto& [path, why] : detail::why_never(draft.setup)) {
      const auto [known, first] = never.emplace(path, why);
      if (!first && why.empty()) known->second.clear();
    }
    parts_->trials.push_back(std::make_unique<detail::ScriptedTrial>(std::move(draft.setup)));
  }
  // A fault that one of the compared agents can meet is none's mistake.
  for (const auto& [path, why] : never) {
    if (!why.empty()) problem(path + why);
  }
  for (DraftFactor& factor : factors_) {
    parts_->options.factors.push_back({factor.name, std::move(factor.levels)});
  }
}

std::string Reader::fingerprint(const Json& json) const {
  Json all = json;
  for (const char* key : {"about", "seeds", "first_seed"}) all.erase(key);
  return show(Json{{"file", std::move(all)}, {"policies", documents_}});
}

Result<std::shared_ptr<ScriptedExperiment::Parts>> Reader::read() {
  read_head();
  read_policies();
  read_section("faults", "faults", "{name: list of faults}", detail::faults_from_json,
               &detail::ScriptedSetup::faults);
  read_section("budgets", "budget", "{name: limits}", detail::budget_from_json,
               &detail::ScriptedSetup::limits);
  read_section("stores", "store", "names (none, deferred, immediate, sqlite, file)",
               detail::store_from_json, &detail::ScriptedSetup::store);
  read_vary();
  std::string compare = "policy";
  fields_.read("compare", compare);
  if (auto done = fields_.finish(); !done) {
    problem(detail::without_first_dots(done.error().detail));
  }
  drop_lone_policy(compare);
  problems_.empty() ? put_first(compare) : check_compare(compare);
  if (problems_.empty()) make_trials();
  if (!problems_.empty()) return Error{Errc::invalid_argument, problems_};
  return outcome::success(parts_);
}

}  // namespace

const std::string& ScriptedExperiment::name() const noexcept { return parts_->name; }
const std::string& ScriptedExperiment::about() const noexcept { return parts_->about; }
const std::string& ScriptedExperiment::fingerprint() const noexcept { return parts_->fingerprint; }
const ExperimentOptions& ScriptedExperiment::options() const noexcept { return parts_->options; }

Sample ScriptedExperiment::trial(const Condition& condition, std::uint64_t seed) const {
  return parts_->trials.at(condition.index())->sample(seed);
}

std::vector<TimelineSpan> ScriptedExperiment::timeline(const Condition& condition,
                                                       std::uint64_t seed) const {
  return parts_->trials.at(condition.index())->timeline(seed);
}

Result<ScriptedExperiment> experiment_from_json(const Json& json, const ReadPolicyFile& read_policy,
                                                const MakeStore& make_store) {
  Reader reader(json, read_policy, make_store);
  TRIAGE_TRY(parts, reader.read());
  parts->fingerprint = reader.fingerprint(json);
  return outcome::success(ScriptedExperiment(std::move(parts)));
}

}  // namespace triage::inline v0_1::lab
