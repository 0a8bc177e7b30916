// SPDX-License-Identifier: MIT
#include "compatible.hpp"
#include "definition/task_outputs.hpp"
#include "triage/detail/joined.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow::detail {
namespace {

// Which parts of its workflow a run has already used.
struct Activated {
  std::set<std::string, std::less<>> executors{};  // Paths of those that have finished something.
  std::set<std::string, std::less<>> edges{};      // That carried a message.
  std::set<std::string, std::less<>> ports{};      // At which somebody was asked.
  std::set<std::string, std::less<>> left_out{};   // Tasks of a finished run that did nothing.
  std::set<std::string, std::less<>> skipped{};    // Tasks of any run that did nothing.

  // The executor with this path, or one nested in it.
  [[nodiscard]] bool within(const std::string& path) const {
    const auto found = executors.lower_bound(path);
    if (found != executors.end() && *found == path) return true;
    const auto inner = executors.lower_bound(path + "/");
    return inner != executors.end() && inner->compare(0, path.size() + 1, path + "/") == 0;
  }
};

// Of the request "outer/inner/1/port/2": "outer/port", as the fingerprint names it.
std::string port_asked_at(const std::string& request) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= request.size();) {
    const std::size_t end = std::min(request.find('/', begin), request.size());
    parts.push_back(request.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() < 4) return {};
  std::string port;
  for (std::size_t i = 0; i + 4 < parts.size(); ++i) port += parts[i] + "/";
  return port + parts[parts.size() - 2];
}

// Whether a stored delivery is of a task that did nothing, because of another or of its condition.
bool is_left_out(std::string_view path, const Json& stored) {
  const std::string_view task = path.substr(path.rfind('/') + 1);
  for (const char* const where : {"sent", "out"}) {
    for (const Json& message : stored.value(where, Json::array())) {
      if (!message.is_object() || message.value("t", Json()) != task_message_type) continue;
      const Json told = message.value("v", Json());
      if (!told.is_object() || told.value("task", Json()) != task) continue;
      if (told.value("status", Json()) == "skipped" || told.contains("cascaded")) return true;
    }
  }
  return false;
}

Activated activated_in(const State& state, bool finished) {
  Activated found;
  if (state.empty()) return found;
  const auto take_edges = [&](const Json& record) {
    for (const Json& sent : record.value("sent", Json::array())) {
      for (const Json& along : sent.value("to", Json::array())) {
        found.edges.insert(along.at(0).get<std::string>());
      }
    }
  };
  std::set<std::string, std::less<>> senders;  // Of what was done.
  std::vector<std::pair<std::string, const Json*>> left_out;
  const State::Values& values = *state.values();
  for (auto one = values.lower_bound(finished_prefix);
       one != values.end() && one->first.rfind(finished_prefix, 0) == 0; ++one) {
    const std::string rest = one->first.substr(finished_prefix.size());
    const std::string path = rest.substr(0, rest.rfind('/'));
    const Json& record = *one->second;
    // What failed is tried again, by the executor as it is now.
    if (!record.is_object() || record.contains("failed")) continue;
    if (is_left_out(path, record)) {
      left_out.emplace_back(path, &record);
      continue;
    }
    found.executors.insert(path);
    take_edges(record);
    const Json from = record.value("from", Json::array());
    for (std::size_t i = 0; i < from.size(); i += 2) senders.insert(from[i].get<std::string>());
  }
  // Others have gone on without it.
  for (const auto& [path, record] : left_out) {
    if (senders.contains(path) || finished) take_edges(*record);
    if (finished) found.left_out.insert(path);
    found.skipped.insert(path);
  }
  for (auto one = values.lower_bound(request_prefix);
       one != values.end() && one->first.rfind(request_prefix, 0) == 0; ++one) {
    found.ports.insert(port_asked_at(one->first.substr(request_prefix.size())));
  }
  return found;
}

bool had_its_turn(const Plan& plan, const Activated& activated, const std::string& part) {
  const auto after = [&](std::string_view kind) { return part.substr(kind.size()); };
  if (part.rfind("executor ", 0) == 0) return activated.within(after("executor "));
  if (part.rfind("workflow ", 0) == 0) return activated.within(after("workflow "));
  if (part.rfind("port ", 0) == 0) return activated.ports.contains(after("port "));
  if (part.rfind("edge ", 0) != 0) return true;
  const std::string name = after("edge ");
  const auto known = plan.edge_of.find(name);
  if (activated.edges.contains(name)) return true;
  if (known == plan.edge_of.end()) return false;
  // Finished executors sent their messages without this edge, or under another condition.
  const std::size_t slash = name.size() - plan.edges[known->second].spec->options.name.size();
  const std::string scope = name.substr(0, slash);  // "outer/", or empty.
  const auto& sources = plan.edges[known->second].spec->sources;
  return std::any_of(sources.begin(), sources.end(), [&](const std::string& source) {
    return activated.within(scope + source) || activated.left_out.contains(scope + source);
  });
}

// The tasks that a stored list begins with; none if it is no list. Earlier versions stored only a
// hash of them: then those of today that the run knows.
std::vector<std::string> stored_starts(const WorkflowSpec& spec, const Json& known) {
  std::vector<std::string> starts;
  if (const auto stored = known.find(starts_part); stored != known.end() && stored->is_string()) {
    std::istringstream names(stored->get<std::string>());
    for (std::string name; std::getline(names, name, ',');) starts.push_back(name);
    return starts;
  }
  for (const std::string& start : spec.starts) {
    const bool is_known =
        known.contains("executor " + start) || known.contains("workflow " + start);
    if (is_known) starts.push_back(start);
  }
  return starts;
}

// Whether the workflow itself differs only by the tasks that it begins with. What others in an
// eager workflow got does not change with them.
bool only_begins_otherwise(const Plan& plan, const std::string& part, const Json& known) {
  const WorkflowSpec& spec = *plan.scopes.front().spec;
  if (part != "workflow" || spec.options.schedule != Schedule::eager) return false;
  return known.at(part) == workflow_mark(spec, stored_starts(spec, known));
}

// Of the tasks that begin in only one of the stored list and today's: those that had their turn.
std::vector<std::string> begun_otherwise(const Plan& plan, const Activated& activated,
                                         const Json& known) {
  const WorkflowSpec& spec = *plan.scopes.front().spec;
  const std::vector<std::string> stored = stored_starts(spec, known);
  const std::set<std::string> before(stored.begin(), stored.end());
  const std::set<std::string> now(spec.starts.begin(), spec.starts.end());
  std::vector<std::string> differing;
  for (const std::string& start : before) {
    const bool is_there = plan.node_of.contains(start) || plan.scope_of.contains(start);
    if (!is_there || now.contains(start)) continue;  // A part of its own says that it is gone.
    const bool had_its_turn = activated.within(start) || activated.skipped.contains(start);
    if (had_its_turn) differing.push_back("start " + start + " (gone)");
  }
  for (const std::string& start : now) {
    if (before.contains(start) || !activated.within(start)) continue;
    differing.push_back("start " + start + " (new)");
  }
  return differing;
}

bool migrates(const Plan& plan, const std::string& part, const Json& known) {
  if (part.rfind("executor ", 0) != 0) return false;
  const auto node = plan.node_of.find(part.substr(9));
  if (node == plan.node_of.end()) return false;
  const PlanNode& now = plan.nodes[node->second];
  return !migrations(now, version_in(known, now.path)).empty();
}

}  // namespace

bool counts_as_done(std::string_view path, const Json& stored) {
  return !stored.contains("failed") && !is_left_out(path, stored);
}

const Json& known_parts(const Json& started_with, const State& state) {
  const Json* newer = state.find(parts_key);
  return newer != nullptr && newer->is_object() ? *newer : started_with;
}

bool same_parts(const Json& known, const Workflow& workflow) {
  if (known.is_string()) {
    return known.get_ref<const std::string&>() == workflow.body()->fingerprint_text();
  }
  const auto& parts = workflow.fingerprint();
  if (!known.is_object() || known.size() != parts.size()) return false;
  auto part = parts.begin();  // Both are sorted by key.
  for (auto one = known.begin(); one != known.end(); ++one, ++part) {
    if (one.key() != part->first || *one != part->second) return false;
  }
  return true;
}

Json parts_object(const Json& known) {
  Json parts = known;
  if (known.is_string()) parts = Json::parse(known.get_ref<const std::string&>(), nullptr, false);
  return parts.is_object() ? parts : Json(Json::object());
}

std::string version_in(const Json& parts, const std::string& path) {
  const auto found = parts.find("executor " + path);
  if (found == parts.end() || !found->is_string()) return "";
  const auto mark = found->get<std::string>();
  const std::size_t at = mark.rfind('@');
  return at == std::string::npos ? std::string() : mark.substr(0, at);
}

std::vector<const MigrationSpec*> migrations(const PlanNode& node, const std::string& from) {
  const std::string to = version_mark(node.spec->options.version);
  std::vector<const MigrationSpec*> way;
  std::string at = from;
  while (at != to && way.size() < node.spec->migrations.size()) {
    const auto& all = node.spec->migrations;
    const auto step = std::find_if(all.begin(), all.end(), [&](const MigrationSpec& one) {
      return version_mark(one.from) == at;
    });
    if (step == all.end()) return {};
    way.push_back(&*step);
    at = version_mark(step->to);
  }
  return at == to ? way : std::vector<const MigrationSpec*>{};
}

Result<void> check_parts(const RunId& run, const Json& started_with, const State& state,
                         const Workflow& workflow, bool finished) {
  const Json& stored = known_parts(started_with, state);
  if (same_parts(stored, workflow)) return outcome::success();
  const Json known = parts_object(stored);
  const auto& parts = workflow.fingerprint();
  const Plan& plan = workflow.body()->plan();
  Activated activated;
  try {
    activated = activated_in(state, finished);
  } catch (const std::exception& e) {
    return damaged_run(run, e.what());
  }
  std::vector<std::string> differing;
  const auto differs = [&](const std::string& part, const std::string& how) {
    if (!had_its_turn(plan, activated, part) || migrates(plan, part, known)) return;
    differing.push_back(part + " (" + how + ")");
  };
  for (const auto& [part, mark] : parts) {
    if (part == starts_part) continue;
    const auto found = known.find(part);
    if (found == known.end()) {
      // Who was asked at a port had one: its mark is newer than the run.
      if (part.rfind("port ", 0) != 0) differs(part, "new");
    } else if (*found != mark && !finished && only_begins_otherwise(plan, part, known)) {
      for (const std::string& start : begun_otherwise(plan, activated, known)) {
        differing.push_back(start);
      }
    } else if (*found != mark) {
      const std::string path = part.substr(part.find(' ') + 1);
      const std::string before = version_in(known, path);
      const std::string now = version_in(parts, path);
      const bool version = part.rfind("executor ", 0) == 0 && before != now;
      differs(part, version ? "version " + before + ", now " + now : "changed");
    }
  }
  for (const auto& [part, mark] : known.items()) {
    if (part != starts_part && !parts.contains(part)) differs(part, "gone");
  }
  if (differing.empty()) return outcome::success();
  return Error{
      Errc::conflict,
      "run \"" + run + "\" was made by another workflow, or another version: " +
          triage::detail::joined(differing) +
          "; only parts that have not had their turn may differ, unless a program migrates "
          "or forces them"};
}

}  // namespace triage::inline v0_1::workflow::detail
