// SPDX-License-Identifier: MIT
#include "triage/workflow/flow.hpp"
#include "base/digest.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

// A label in the name of an edge, where no "/" is allowed.
std::string without_slash(const std::string& label) {
  std::string name;
  for (const char c : label) name += c == '/' ? std::string("%2F") : std::string(1, c);
  return name;
}

// … in an executor's id, which has fewer characters and an end.
std::string as_id(const std::string& label) {
  constexpr std::size_t longest = 100;
  std::string id = label.substr(0, longest);
  for (char& c : id) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == ':' || c == '-';
    if (!plain) c = '-';
  }
  return id == label ? id : id + "." + triage::detail::digest(label).substr(0, 16);
}

}  // namespace

Result<Workflow> Flow::build() const {
  WorkflowBuilder builder = builder_;
  std::set<std::string> methods;
  std::vector<std::string> routers;
  for (const Method& method : methods_) {
    methods.insert(method.id);
    if (method.routes) routers.push_back(method.id);
  }
  const auto says = [](const std::string& label) {
    return [label](const Message& message) {
      return message.json().is_string() && message.json().get_ref<const std::string&>() == label;
    };
  };
  const auto label_edges = [&](const std::string& label, const std::string& to) {
    for (const std::string& router : routers) {
      builder.edge(router, to, says(label),
                   {.name = router + "=" + without_slash(label) + "->" + to});
    }
  };
  std::set<std::string> labels_joined;
  for (const Method& method : methods_) {
    for (const Trigger& trigger : method.triggers) {
      std::vector<std::string> joined;
      for (const std::string& name : trigger.names) {
        const bool is_method = methods.contains(name);
        if (!is_method && routers.empty()) {
          return Error{
              Errc::invalid_argument,
              "method \"" + printable(method.id) + "\" listens for \"" + printable(name) +
                  "\", which is not a method, and there is no router to give it as a label"};
        }
        if (!trigger.all || trigger.names.size() == 1) {
          if (is_method) {
            builder.edge(name, method.id);
          } else {
            label_edges(name, method.id);
          }
          continue;
        }
        if (is_method) {
          joined.push_back(name);
          continue;
        }
        const std::string stand_in = "label:" + as_id(name);  // A fan-in has no conditions.
        if (labels_joined.insert(name).second) {
          builder.executor(stand_in, [](const std::string& label) { return label; });
          label_edges(name, stand_in);
        }
        joined.push_back(stand_in);
      }
      if (joined.size() > 1) builder.fan_in(joined, method.id);
    }
  }
  return builder.build();
}

}  // namespace triage::inline v0_1::workflow
