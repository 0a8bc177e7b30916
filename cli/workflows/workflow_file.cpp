// SPDX-License-Identifier: MIT
#include "workflow_file.hpp"

#include "arguments/read_policy.hpp"
#include "documents/document_reader.hpp"
#include "placeholders.hpp"
#include "triage/detail/try.hpp"
#include "workflow/definition/plan.hpp"

#ifdef TRIAGE_HAS_YAML
#include "triage/policies/yaml.hpp"
#endif

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

constexpr int most_attempts = 1'000;
constexpr int most_tokens = 1'000'000;

bool is_http(std::string_view url) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!url.starts_with(scheme)) continue;
    url.remove_prefix(scheme.size());
    const bool printed =
        std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c != '\x7f'; });
    return printed && !url.empty() && std::string_view("/?#:@").find(url.front()) == url.npos;
  }
  return false;
}

class Reader : public DocumentReader {
 public:
  explicit Reader(std::string folder) : folder_(std::move(folder)) {}

  WorkflowFile read(const Json& document) {
    WorkflowFile file;
    if (!document.is_object()) {
      problem("the file is " + brief(document) +
              "; allowed is an object with the keys workflow, agents, and tasks or executors");
      return file;
    }
    const bool graph = document.contains("executors");
    if (graph) {
      check_keys(document, "",
                 {"workflow", "attempts", "agents", "executors", "edges", "start", "max_supersteps",
                  "inputs", "checkpoints"});
    } else {
      check_keys(document, "",
                 {"workflow", "attempts", "agents", "tasks", "inputs", "checkpoints"});
    }
    read_checkpoints(document, file);
    file.id = text(document, "", "workflow", true);
    check_id(file.id, "workflow");
    file.attempts = number(document, "", "attempts", 1, most_attempts, 1);
    file.inputs = document.value("inputs", Json::object());
    if (!file.inputs.is_object()) problem("inputs is " + brief(file.inputs) + object_wanted);
    read_agents(document, file);
    if (graph) {
      std::vector<std::string> agents;
      for (const auto& [name, spec] : file.agents) agents.push_back(name);
      const std::size_t before = count();
      file.graph = read_graph(*this, document, agents);
      if (count() == before && !agents.empty()) check_graph(file);
    } else {
      read_tasks(document, file);
    }
    return file;
  }

 private:
  void check_id(const std::string& id, const std::string& path) {
    if (id.empty()) return;
    const auto checked = workflow::detail::check_id(id, "id");
    if (!checked) problem(path + ": " + checked.error().detail);
  }

  // As a whole: what cannot be reached, for example.
  void check_graph(WorkflowFile file) {
    if (!workflow::detail::check_id(file.id, "id")) file.id = "w";
    AgentWorks works;
    for (const auto& [name, spec] : file.agents) works[name] = nothing;
    if (const auto built = workflow_of(file, works); !built) {
      problem("executors: " + built.error().detail);
    }
  }

  // As a whole: circles, for example. What is wrong with single tasks is left out.
  void check_tasks(const WorkflowFile& file, const std::vector<std::string>& ids) {
    std::set<std::string> sound;
    for (const std::string& id : ids) {
      if (workflow::detail::check_id(id, "id")) sound.insert(id);
    }
    if (sound.empty()) return;
    const bool named = workflow::detail::check_id(file.id, "id").has_value();
    workflow::TaskGraph graph(named ? file.id : "w", {.checkpoints = file.checkpoints});
    graph.agent("agent", nothing);
    std::set<std::string> left = sound;
    for (const workflow::Task& task : file.tasks) {
      if (left.erase(task.id) == 0) continue;
      std::set<std::string> needs(task.depends_on.begin(), task.depends_on.end());
      needs.erase(task.id);
      std::erase_if(needs, [&](const std::string& need) { return !sound.contains(need); });
      graph.task({.id = task.id,
                  .description = task.description,
                  .depends_on = {needs.begin(), needs.end()},
                  .assignee = "agent"});
    }
    if (const auto built = graph.build(); !built) problem("tasks: " + built.error().detail);
  }

  static Result<Json> nothing(const workflow::TaskInput&, workflow::Context&) { return Json(); }

  void read_checkpoints(const Json& document, WorkflowFile& file) {
    if (!document.contains("checkpoints")) return;
    if (document["checkpoints"].is_array() && document["checkpoints"].empty()) {
      problem("checkpoints is empty; leave it out for the default, or list triggers");
    }
    workflow::CheckpointTriggers& on =
        file.checkpoints
            .emplace(workflow::CheckpointPolicy{.on = workflow::CheckpointTriggers::none()})
            .on;
    for (const std::string& name : texts(document, "", "checkpoints")) {
      if (const auto trigger = workflow::parse_trigger(name)) {
        on.add(*trigger);
        continue;
      }
      std::vector<std::string> known;
      for (int i = 0; i <= static_cast<int>(workflow::CheckpointTrigger::all); ++i) {
        known.emplace_back(to_string(static_cast<workflow::CheckpointTrigger>(i)));
      }
      problem("checkpoints has \"" + printable(name) + "\"" + allowed_are(known));
    }
  }

  void read_agents(const Json& document, WorkflowFile& file) {
    const auto agents = document.find("agents");
    if (agents == document.end() || !agents->is_object() || agents->empty()) {
      return problem("agents is " + (agents == document.end() ? "missing" : brief(*agents)) +
                     "; allowed is an object of at least one agent");
    }
    for (auto one = agents->begin(); one != agents->end(); ++one) {
      const std::string path = below("agents", printable(one.key()));
      if (one->is_object()) {
        const AgentSpec& read = file.agents.emplace(one.key(), agent(*one, path)).first->second;
        for (const std::string& word : read.command) {
          check_no_placeholders(*this, path + ".command", word, file.inputs);
        }
        check_no_placeholders(*this, path + ".system", read.system, file.inputs);
        check_works(one.key(), read, path);
      } else {
        problem(path + " is " + brief(*one) + object_wanted);
      }
    }
  }

  // Whether its command can be run, for example. A key that is not there is no mistake of the file.
  void check_works(const std::string& name, const AgentSpec& spec, const std::string& path) {
    const bool runs = !spec.command.empty() && !spec.command.front().empty();
    if (!runs && !is_http(spec.url)) return;
    WorkflowFile alone;
    alone.agents.emplace(name, spec);
    const auto works = works_of(alone, folder_, nullptr, nullptr);
    if (works || works.error().code != Errc::invalid_argument) return;
    problem((runs ? "" : path + ".key_env: ") + works.error().detail);
  }

  AgentSpec agent(const Json& json, const std::string& path) {
    const bool runs = json.contains("command");
    AgentSpec spec;
    if (runs == json.contains("url")) {
      problem(path + " has " + (runs ? "both a command and a url" : "neither a command nor a url") +
              "; allowed is one of them");
      if (!runs) {
        check_keys(json, path,
                   {"command", "url", "model", "key_env", "system", "max_tokens", "timeout"});
        return spec;
      }
    }
    if (runs) {
      check_keys(json, path, {"command", "timeout"});
      spec.command = texts(json, path, "command");
      const bool empty = json["command"] == Json::array();
      if (empty || (!spec.command.empty() && spec.command.front().empty())) {
        problem(path + ".command is " + brief(json["command"]) +
                "; allowed is a program and its arguments");
      }
      spec.timeout = duration(json, path, "timeout", std::chrono::minutes(10));
    } else {
      check_keys(json, path, {"url", "model", "key_env", "system", "max_tokens", "timeout"});
      spec.url = text(json, path, "url", false);
      if (json.contains("url") && json["url"].is_string() && !is_http(spec.url)) {
        problem(path + ".url is " + brief(json["url"]) +
                "; allowed is one that begins with http:// or https://, followed by a host, "
                "without spaces");
      }
      while (spec.url.ends_with('/')) spec.url.pop_back();
      spec.model = text(json, path, "model", true);
      spec.key_env = text(json, path, "key_env", false);
      spec.system = text(json, path, "system", false);
      spec.max_tokens = number(json, path, "max_tokens", 1, most_tokens, 0);
      spec.timeout = duration(json, path, "timeout", std::chrono::minutes(2));
    }
    return spec;
  }

  void read_tasks(const Json& document, WorkflowFile& file) {
    const auto tasks = document.find("tasks");
    if (tasks == document.end() || !tasks->is_array() || tasks->empty()) {
      return problem("tasks is " + (tasks == document.end() ? "missing" : brief(*tasks)) +
                     "; allowed is a list of at least one task");
    }
    for (std::size_t i = 0; i < tasks->size(); ++i) {
      const std::string path = "tasks[" + std::to_string(i) + "]";
      const Json& json = (*tasks)[i];
      if (json.is_object()) {
        file.tasks.push_back(task(json, path, file));
      } else {
        problem(path + " is " + brief(json) + object_wanted);
      }
    }
    check_references(file);
  }

  workflow::Task task(const Json& json, const std::string& path, const WorkflowFile& file) {
    using workflow::OnFailure;
    using workflow::TaskContext;
    check_keys(json, path,
               {"id", "description", "depends_on", "assignee", "context", "on_failure"});
    workflow::Task task{.id = text(json, path, "id", true),
                        .description = text(json, path, "description", true),
                        .depends_on = texts(json, path, "depends_on"),
                        .assignee = text(json, path, "assignee", file.agents.size() > 1)};
    check_placeholders(*this, path + ".description", task.description, file.inputs);
    if (json.contains("context") && json["context"].is_array()) {
      task.context_from = texts(json, path, "context");
      if (task.context_from.empty()) task.context = TaskContext::none;
    } else {
      task.context = one_of<TaskContext>(json, path, "context",
                                         {{"listed", TaskContext::listed},
                                          {"all", TaskContext::all},
                                          {"none", TaskContext::none}});
    }
    task.on_failure = one_of<OnFailure>(json, path, "on_failure",
                                        {{"cascade", OnFailure::cascade},
                                         {"skip", OnFailure::skip},
                                         {"continue", OnFailure::carry_on}});
    if (task.assignee.empty() && file.agents.size() == 1) {
      task.assignee = file.agents.begin()->first;
    }
    return task;
  }

  void check_references(const WorkflowFile& file) {
    std::vector<std::string> ids;
    std::vector<std::string> places;
    std::vector<std::string> agents;
    for (std::size_t i = 0; i < file.tasks.size(); ++i) {
      ids.push_back(file.tasks[i].id);
      places.push_back("tasks[" + std::to_string(i) + "]");
    }
    check_ids(*this, ids, places);
    const std::vector<std::string> known = known_ids(ids);
    for (const auto& [name, spec] : file.agents) agents.push_back(name);
    std::map<std::string_view, const workflow::Task*> by_id;
    for (const workflow::Task& task : file.tasks) by_id.emplace(task.id, &task);
    for (std::size_t i = 0; i < file.tasks.size(); ++i) {
      const workflow::Task& task = file.tasks[i];
      if (!task.assignee.empty() && !agents.empty() && !file.agents.contains(task.assignee)) {
        problem(places[i] + ".assignee is \"" + printable(task.assignee) + "\"" +
                allowed_are(agents));
      }
      check_needs(task, places[i], known);
      if (!task.context_from.empty()) check_context(task, places[i], by_id);
    }
    check_tasks(file, known);
  }

  void check_needs(const workflow::Task& task, const std::string& path,
                   const std::vector<std::string>& known) {
    std::set<std::string_view> before;
    for (std::size_t n = 0; n < task.depends_on.size(); ++n) {
      const std::string& need = task.depends_on[n];
      const std::string which =
          path + ".depends_on[" + std::to_string(n) + "] is \"" + printable(need);
      const bool exists = std::binary_search(known.begin(), known.end(), need);
      if (!before.insert(need).second) {
        problem(which + "\" twice; allowed is each task once");
      } else if (!exists || need == task.id) {
        std::vector<std::string> others = known;
        std::erase(others, task.id);
        problem(which + (exists ? "\", the task itself" : "\", which does not exist") +
                allowed_are(others));
      }
    }
  }

  // A task may see the outputs of those that come before it.
  void check_context(const workflow::Task& task, const std::string& path,
                     const std::map<std::string_view, const workflow::Task*>& by_id) {
    std::set<std::string> before;
    std::vector<const workflow::Task*> next{&task};
    while (!next.empty()) {
      const workflow::Task& one = *next.back();
      next.pop_back();
      for (const std::string& need : one.depends_on) {
        const auto found = by_id.find(need);
        if (found != by_id.end() && before.insert(need).second) next.push_back(found->second);
      }
    }
    before.erase(task.id);
    std::set<std::string_view> named;
    for (std::size_t n = 0; n < task.context_from.size(); ++n) {
      const std::string& one = task.context_from[n];
      const std::string which = path + ".context[" + std::to_string(n) + "] is \"" + printable(one);
      if (!named.insert(one).second) {
        problem(which + "\" twice; allowed is each task once");
      } else if (!before.contains(one)) {
        problem(which + "\", which it does not depend on, directly or indirectly" +
                allowed_are({before.begin(), before.end()}));
      }
    }
  }

  std::string folder_;
};

}  // namespace

void check_ids(DocumentReader& reader, const std::vector<std::string>& ids,
               const std::vector<std::string>& places) {
  std::map<std::string_view, int> times;
  for (const std::string& id : ids) ++times[id];
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i].empty()) continue;
    if (times[ids[i]] > 1) {
      reader.problem(places[i] + ".id is \"" + printable(ids[i]) +
                     "\" twice; allowed is each id once");
    }
    if (const auto checked = workflow::detail::check_id(ids[i], "id"); !checked) {
      reader.problem(places[i] + ".id: " + checked.error().detail);
    }
  }
}

std::vector<std::string> known_ids(const std::vector<std::string>& ids) {
  std::set<std::string> known(ids.begin(), ids.end());
  known.erase("");
  return {known.begin(), known.end()};
}

Result<WorkflowFile> parse_workflow_file(std::string_view text, const std::string& folder) {
  WorkflowFile file;
  const auto check = [&](const Json& document) -> Result<void> {
    Reader reader(folder);
    file = reader.read(document);
    if (reader.count() == 0) return outcome::success();
    return Error{Errc::invalid_argument, reader.problems()};
  };
#ifdef TRIAGE_HAS_YAML
  TRIAGE_TRYV(json_from_yaml(text, "the workflow", check));
#else
  const Json document = Json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) {
    return Error{Errc::invalid_argument,
                 "the workflow is not JSON, and this build of triage reads no YAML"};
  }
  TRIAGE_TRYV(check(document));
#endif
  complete(file);
  return outcome::success(std::move(file));
}

Result<WorkflowFile> read_workflow_file(const std::string& path) {
  TRIAGE_TRY(text, read_text_file(path));
  std::error_code failed;
  auto file =
      parse_workflow_file(text, std::filesystem::absolute(path, failed).parent_path().string());
  if (file) return file;
  std::string problems = printable(path) + ": ";
  for (const char letter : file.error().detail) {
    problems += letter;
    if (letter == '\n') problems += printable(path) + ": ";
  }
  return Error{file.error().code, std::move(problems)};
}

}  // namespace triage::inline v0_1::cli
