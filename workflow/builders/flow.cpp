// SPDX-License-Identifier: MIT
#include "triage/workflow/flow.hpp"
#include "base/digest.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

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

// What the names of triggers mean. Whatever is no method is a label.
struct FlowNames {
  std::set<std::string> methods{};
  std::vector<std::string> routers{};
  std::set<std::string> joined_labels{};
  bool exact_ids = false;  // Of the executors that stand for those.

  [[nodiscard]] std::set<std::string> labels_of(const Trigger& trigger) const {
    std::set<std::string> labels;
    for (const std::string& name : trigger.names) {
      if (!methods.contains(name)) labels.insert(name);
    }
    return labels;
  }
};

// Gives methods the messages that they listen for.
class Listeners {
 public:
  Listeners(WorkflowBuilder& builder, const FlowNames& names) : builder_(builder), names_(names) {}

  Result<void> connect(const std::string& method, const Trigger& trigger) {
    const std::set<std::string> labels = names_.labels_of(trigger);
    if (!labels.empty() && names_.routers.empty()) {
      return Error{Errc::invalid_argument,
                   "method \"" + printable(method) + "\" listens for \"" +
                       printable(*std::find_if(
                           trigger.names.begin(), trigger.names.end(),
                           [&](const std::string& name) { return labels.contains(name); })) +
                       "\", which is not a method, and there is no router to give it as a label"};
    }
    if (joins(trigger)) {
      join(method, trigger, labels);
    } else {
      listen(method, trigger, labels);
    }
    return outcome::success();
  }

 private:
  void listen(const std::string& method, const Trigger& trigger,
              const std::set<std::string>& labels) {
    const bool exact = collide(labels, in_edge);
    for (const std::string& name : trigger.names) {
      if (labels.contains(name)) {
        label_edges(name, method, exact);
      } else {
        builder_.edge(name, method);
      }
    }
  }
  // A fan-in has no conditions, so an executor stands for each label.
  void join(const std::string& method, const Trigger& trigger,
            const std::set<std::string>& labels) {
    std::vector<std::string> joined;
    for (const std::string& name : trigger.names) {
      joined.push_back(labels.contains(name) ? stand_in(name) : name);
    }
    builder_.fan_in(joined, method);
  }
  std::string stand_in(const std::string& label) {
    const std::string id = "label:" + as_id(label, names_.exact_ids);
    if (stand_ins_.insert(label).second) {
      builder_.executor(id, [](const std::string& said) { return said; });
      label_edges(label, id, false);
    }
    return id;
  }
  void label_edges(const std::string& label, const std::string& to, bool exact) {
    const auto says = [label](const Message& message) {
      return message.json().is_string() && message.json().get_ref<const std::string&>() == label;
    };
    for (const std::string& router : names_.routers) {
      builder_.edge(router, to, says, {.name = router + "=" + in_edge(label, exact) + "->" + to});
    }
  }

  WorkflowBuilder& builder_;
  const FlowNames& names_;
  std::set<std::string> stand_ins_{};  // Labels that have one.
};

}  // namespace

Result<Workflow> Flow::build() const {
  FlowNames names;
  for (const Method& method : methods_) {
    names.methods.insert(method.id);
    if (method.routes) names.routers.push_back(method.id);
  }
  for (const Method& method : methods_) {
    for (const Trigger& trigger : method.triggers) {
      if (joins(trigger)) names.joined_labels.merge(names.labels_of(trigger));
    }
  }
  names.exact_ids = collide(names.joined_labels, as_id);
  WorkflowBuilder builder = builder_;
  Listeners listeners(builder, names);
  for (const Method& method : methods_) {
    for (const Trigger& trigger : method.triggers) {
      TRIAGE_TRYV(listeners.connect(method.id, trigger));
    }
  }
  return builder.build();
}

}  // namespace triage::inline v0_1::workflow
