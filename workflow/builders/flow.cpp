// SPDX-License-Identifier: MIT
#include "triage/workflow/flow.hpp"
#include "base/digest.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

// A label in the name of an edge, where no "/" is allowed. exact: no other label has this name.
std::string in_edge(const std::string& label, bool exact) {
  std::string name;
  for (const char c : label) {
    const bool escaped = c == '/' || (c == '%' && exact);
    name += !escaped ? std::string(1, c) : c == '/' ? "%2F" : "%25";
  }
  return name;
}

// … in an executor's id, which has fewer characters and an end.
std::string as_id(const std::string& label, bool exact) {
  constexpr std::size_t longest = 100;
  std::string id = label.substr(0, longest);
  for (char& c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == ':' || c == '-';
    if (!plain) c = '-';
  }
  return id == label && !exact ? id : id + "." + triage::detail::digest(label).substr(0, 16);
}

// Whether two of these labels have one name if it is not exact. Stored runs know the others by it.
bool collide(const std::set<std::string>& labels, std::string (&name)(const std::string&, bool)) {
  std::set<std::string> names;
  for (const std::string& label : labels) names.insert(name(label, false));
  return names.size() < labels.size();
}

bool joins(const Trigger& trigger) { return trigger.all && trigger.names.size() > 1; }

}  // namespace

Result<Workflow> Flow::build() const {
  WorkflowBuilder builder = builder_;
  std::set<std::string> methods;
  std::vector<std::string> routers;
  for (const Method& method : methods_) {
    methods.insert(method.id);
    if (method.routes) routers.push_back(method.id);
  }
  const auto add_labels = [&](const Trigger& trigger, std::set<std::string>& labels) {
    for (const std::string& name : trigger.names) {
      if (!methods.contains(name)) labels.insert(name);
    }
  };
  std::set<std::string> joined_labels;
  for (const Method& method : methods_) {
    for (const Trigger& trigger : method.triggers) {
      if (joins(trigger)) add_labels(trigger, joined_labels);
    }
  }
  const bool exact_ids = collide(joined_labels, as_id);
  const auto says = [](const std::string& label) {
    return [label](const Message& message) {
      return message.json().is_string() && message.json().get_ref<const std::string&>() == label;
    };
  };
  const auto label_edges = [&](const std::string& label, const std::string& to, bool exact) {
    for (const std::string& router : routers) {
      builder.edge(router, to, says(label),
                   {.name = router + "=" + in_edge(label, exact) + "->" + to});
    }
  };
  for (const Method& method : methods_) {
    for (const Trigger& trigger : method.triggers) {
      std::vector<std::string> joined;
      std::set<std::string> labels;
      add_labels(trigger, labels);
      const bool exact_edges = collide(labels, in_edge);
      for (const std::string& name : trigger.names) {
        const bool is_method = methods.contains(name);
        if (!is_method && routers.empty()) {
          return Error{
              Errc::invalid_argument,
              "method \"" + printable(method.id) + "\" listens for \"" + printable(name) +
                  "\", which is not a method, and there is no router to give it as a label"};
        }
        if (!joins(trigger)) {
          if (is_method) {
            builder.edge(name, method.id);
          } else {
            label_edges(name, method.id, exact_edges);
          }
          continue;
        }
        if (is_method) {
          joined.push_back(name);
          continue;
        }
        const std::string stand_in =
            "label:" + as_id(name, exact_ids);  // A fan-in has no conditions.
        if (joined_labels.erase(name) > 0) {
          builder.executor(stand_in, [](const std::string& label) { return label; });
          label_edges(name, stand_in, false);
        }
        joined.push_back(stand_in);
      }
      if (joined.size() > 1) builder.fan_in(joined, method.id);
    }
  }
  return builder.build();
}

}  // namespace triage::inline v0_1::workflow
