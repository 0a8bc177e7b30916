// SPDX-License-Identifier: MIT
#include "base/digest.hpp"
#include "base/json_words.hpp"
#include "checkpointer.hpp"
#include "plan.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/workflow/workflow.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

// Names are stored with every message, so the generated names of wide fan-outs are cut.
constexpr std::size_t longest_made_name = 80;

EdgeOptions named(EdgeOptions options, const std::vector<std::string>& from,
                  const std::vector<std::string>& to) {
  if (!options.name.empty()) return options;
  options.name = triage::detail::joined(from, {}, ",") + "->" + triage::detail::joined(to, {}, ",");
  if (options.name.size() > longest_made_name) {
    options.name = options.name.substr(0, longest_made_name - 16) + "#" +
                   triage::detail::digest(options.name).substr(0, 12);
  }
  return options;
}

void take_defaults(const ExecutorDefaults& defaults, ExecutorOptions& own) {
  if (!own.policy) own.policy = defaults.policy;
  if (own.timeout == Duration::zero()) own.timeout = defaults.timeout;
  if (own.idle_timeout == Duration::zero()) own.idle_timeout = defaults.idle_timeout;
  if (!own.limits) own.limits = defaults.limits;
}

bool is_int64(const Json& value) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= most);
}
Json as_list(const Json& value) { return value.is_array() ? value : Json(Json::array_t{value}); }

}  // namespace

WorkflowBuilder& WorkflowBuilder::executor(std::string id, const Workflow& nested,
                                           ExecutorOptions options) {
  spec_.nodes.push_back({std::move(id), {}, std::move(options), nested.body()});
  return *this;
}

WorkflowBuilder& WorkflowBuilder::start(std::string id) {
  if (std::find(spec_.starts.begin(), spec_.starts.end(), id) == spec_.starts.end()) {
    spec_.starts.push_back(std::move(id));
  }
  return *this;
}

WorkflowBuilder& WorkflowBuilder::edge(std::string from, std::string to, Condition condition,
                                       EdgeOptions options) {
  detail::EdgeSpec edge{.options = named(std::move(options), {from}, {to}),
                        .sources = {std::move(from)},
                        .targets = {std::move(to)}};
  if (condition) edge.conditions.push_back(std::move(condition));
  spec_.edges.push_back(std::move(edge));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::chain(const std::vector<std::string>& executors) {
  for (std::size_t i = 1; i < executors.size(); ++i) edge(executors[i - 1], executors[i]);
  return *this;
}

WorkflowBuilder& WorkflowBuilder::choice(std::string from, std::vector<Case> cases,
                                         std::string otherwise, EdgeOptions options) {
  detail::EdgeSpec edge{.kind = detail::EdgeSpec::Kind::choice, .sources = {std::move(from)}};
  for (Case& one : cases) {
    edge.conditions.push_back(std::move(one.condition));
    edge.targets.push_back(std::move(one.target));
  }
  edge.targets.push_back(std::move(otherwise));
  edge.options = named(std::move(options), edge.sources, edge.targets);
  spec_.edges.push_back(std::move(edge));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::fan_out(std::string from, std::vector<std::string> to,
                                          Selector selector, EdgeOptions options) {
  detail::EdgeSpec edge{.kind = detail::EdgeSpec::Kind::fan_out,
                        .options = named(std::move(options), {from}, to),
                        .sources = {std::move(from)},
                        .targets = std::move(to),
                        .selector = std::move(selector)};
  spec_.edges.push_back(std::move(edge));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::fan_in(std::vector<std::string> from, std::string to, Join join,
                                         EdgeOptions options) {
  detail::EdgeSpec edge{.kind = detail::EdgeSpec::Kind::fan_in,
                        .options = named(std::move(options), from, {to}),
                        .sources = std::move(from),
                        .targets = {std::move(to)},
                        .join = join};
  spec_.edges.push_back(std::move(edge));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::add_port(std::string name, detail::PortSpec port) {
  spec_.ports.insert_or_assign(std::move(name), std::move(port));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::reducer(std::string key, detail::Reducer reduce) {
  spec_.reducers.insert_or_assign(std::move(key), std::move(reduce));
  return *this;
}

WorkflowBuilder& WorkflowBuilder::migrate(std::string executor, std::string from, std::string to,
                                          Migrate change) {
  spec_.migrations.push_back(
      {std::move(executor), {std::move(from), std::move(to), std::move(change)}});
  return *this;
}

Result<Workflow> WorkflowBuilder::build() const {
  TRIAGE_TRYV(detail::check_workflow(spec_));
  detail::WorkflowSpec spec = spec_;
  TRIAGE_TRYV(detail::attach_migrations(spec));
  for (detail::NodeSpec& node : spec.nodes) take_defaults(spec.options.defaults, node.options);
  auto body = std::make_shared<const detail::WorkflowBody>(std::move(spec));
  TRIAGE_TRYV(detail::policies_of(body->plan(), spec_.options.schedule, std::nullopt));
  return outcome::success(Workflow(std::move(body)));
}

const std::string& Workflow::id() const noexcept { return body_->spec().id; }

const std::map<std::string, std::string>& Workflow::fingerprint() const noexcept {
  return body_->fingerprint();
}

std::vector<std::string> Workflow::executors() const {
  std::vector<std::string> paths;
  for (const detail::PlanNode& node : body_->plan().nodes) paths.push_back(node.path);
  return paths;
}

namespace reduce {

detail::Reducer append() {
  return [](const Json& before, const Json& written) {
    Json list = before.is_null() ? Json::array() : as_list(before);
    for (const Json& one : as_list(written)) list.push_back(one);
    return list;
  };
}
detail::Reducer sum() {
  return [](const Json& before, const Json& written) -> Json {
    if (!written.is_number()) throw std::invalid_argument("a sum is of numbers");
    if (before.is_null()) return written;
    if (is_int64(before) && is_int64(written)) {
      std::int64_t sum = 0;
      const bool too_large =
          __builtin_add_overflow(before.get<std::int64_t>(), written.get<std::int64_t>(), &sum);
      if (!too_large) return sum;
    }
    return before.get<double>() + written.get<double>();
  };
}
detail::Reducer max() {
  return [](const Json& before, const Json& written) {
    const bool comparable = (written.is_number() && (before.is_null() || before.is_number())) ||
                            (written.is_string() && (before.is_null() || before.is_string()));
    if (!comparable) {
      throw std::invalid_argument("a maximum is of numbers, or of texts; before it was " +
                                  show(before).substr(0, 100));
    }
    return before.is_null() || before < written ? written : before;
  };
}
detail::Reducer merge() {
  return [](const Json& before, const Json& written) {
    Json merged = before.is_null() ? Json::object() : before;
    merged.update(written);
    return merged;
  };
}

}  // namespace reduce

namespace detail {

void no_number(const Json& json, const std::string& allowed) {
  throw std::invalid_argument("it must be " + allowed + ", and is " + show(json).substr(0, 100));
}
void not_converted(const std::string& what, const std::string& why) {
  throw std::invalid_argument(
      what + " does not convert to what is asked for: " + triage::detail::json_words(why));
}
std::string named(const char* kind, std::string_view name) {
  return std::string(kind) + " \"" + printable(name) + "\"";
}

Error unreadable(const Message& message, const std::string& why) {
  return {Errc::invalid_argument,
          "a message of type \"" + printable(message.type) +
              "\" does not convert to what the handler takes: " + triage::detail::json_words(why)};
}

Error unhandled(const Message& message, const std::vector<std::string>& handled) {
  return {Errc::invalid_argument, "a message of type \"" + printable(message.type) +
                                      "\" has no handler; there are handlers for " +
                                      triage::detail::joined(handled)};
}

bool takes(const std::string& handled, const std::string& type) {
  return handled == type || handled == "json" || type == "json";
}

Result<void> answers_as(const Json& answer, const std::function<void()>& convert) {
  try {
    convert();
    return outcome::success();
  } catch (const std::exception& e) {
    return Error{Errc::invalid_argument,
                 "the answer " + show(answer).substr(0, 200) +
                     " is not of the port's type: " + triage::detail::json_words(e.what())};
  }
}

}  // namespace detail

}  // namespace triage::inline v0_1::workflow
