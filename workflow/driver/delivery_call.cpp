// SPDX-License-Identifier: MIT
#include "delivery_call.hpp"
#include "base/digest.hpp"
#include "schedule/router.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

namespace {

constexpr std::size_t longest_run_id = 128;
constexpr std::string_view deadline_over = "deadline";  // The reason of what begins too late.

// Whether a handler that ends so may have done so because it is out of time.
bool gave_up(const Error& error, bool cancelled) {
  const auto reported = error.reported();
  return reported ? !reported->type : error.code == Errc::cancelled && !cancelled;
}

}  // namespace

bool is_for_a_deadline(const Error& error) {
  if (const auto reported = error.reported()) return reported->reason == deadline_over;
  return error.failure() && error.failure()->classification.reason == deadline_over;
}

// The run of a delivery under its executor's policy. Another input, or more answers, means another
// run.
RunId inner_run_id(const RunId& run, const std::string& what) {
  const std::string mark = ":" + triage::detail::digest(what).substr(0, 24);
  if (run.size() + mark.size() <= longest_run_id) return run + mark;
  return triage::detail::digest(run).substr(0, 64) + mark;
}

DeliveryCall::DeliveryCall(const Surroundings& around, const Delivery& delivery, Attempt& inner)
    : around_(around),
      delivery_(delivery),
      node_(around.body.plan().nodes[delivery.node]),
      inner_(inner),
      time_(node_.spec->options, around.clock) {
  finished_ = begun_as(around.body.plan(), delivery, around.stored);
}

Result<void> DeliveryCall::invoke(Instance& executor) {
  Context context = context_of(*this);
  try {
    return executor.handle(delivery_.message, context);
  } catch (const RequestPending&) {
    return outcome::success();
  } catch (const AttemptStopped&) {
    const std::scoped_lock lock(mutex_);
    if (sticky_) return *sticky_;
    if (auto error = around_.attempt.error()) return *std::move(error);
    return Error{Errc::cancelled, "the attempt was stopped"};
  }
}

// The run's own deadline does not undo what has finished.
std::optional<Error> DeliveryCall::out_of_time() {
  const std::string_view why = time_.over();
  if (why.empty()) return std::nullopt;
  const std::string what = why == "idle_timeout" ? "did nothing for longer than its idle timeout"
                                                 : "took longer than its timeout";
  return fail({.text = "executor \"" + node_.path + "\" " + what,
               .type = FailureType::timeout,
               .reason = std::string(why)});
}

bool DeliveryCall::is_too_late(const Error& error) const {
  const auto until = around_.attempt.deadline();
  if (!until || around_.clock.now() < *until || !time_.over().empty()) return false;
  return is_for_a_deadline(error);
}

Result<void> DeliveryCall::perform(Instance& executor) {
  Result<void> done = invoke(executor);
  if (parked_ && !sticky_) return outcome::success();
  if (sticky_) return *sticky_;
  if (!done && !gave_up(done.error(), cancelled().stop_requested())) return done;
  if (auto late = out_of_time()) {
    if (!done) late->detail += "; it ended with: " + done.error().detail;
    return *std::move(late);
  }
  if (!done) return done;
  for (const auto& [key, values] : own_) {
    for (const JsonPtr& value : values) finished_.writes.push_back({key.first, key.second, value});
  }
  return outcome::success();
}

void DeliveryCall::add_sent(const std::vector<Exit>& exits, Message message,
                            std::optional<std::string_view> target) {
  active();
  if (auto checked = check_json(message.json(), "a message"); !checked) {
    return stick(std::move(checked).error());
  }
  auto routes = routes_of(around_.body.plan(), exits, message, target);
  if (!routes) return stick(std::move(routes).error());
  finished_.sent.push_back({std::move(message), std::move(routes).value()});
}

void DeliveryCall::send(Message message, std::optional<std::string_view> target) {
  add_sent(node_.edges, completed(std::move(message)), target);
}

void DeliveryCall::output(Message message) {
  message = completed(std::move(message));
  if (const auto* exits = exits_of_output(around_.body.plan(), delivery_.node)) {
    return add_sent(*exits, std::move(message), std::nullopt);
  }
  active();
  if (auto checked = check_json(message.json(), "an output"); !checked) {
    return stick(std::move(checked).error());
  }
  finished_.outputs.push_back(std::move(message));
}

void DeliveryCall::note_read(std::string_view scope, std::string_view key, const JsonPtr& value) {
  if (!around_.stored || !has_read_.emplace(scope, key).second) return;
  finished_.reads.push_back(
      {std::string(scope), std::string(key), around_.digests->of(scope, key, value)});
}

JsonPtr DeliveryCall::input(std::string_view key) {
  const auto found = around_.inputs.is_object() ? around_.inputs.find(key) : around_.inputs.end();
  JsonPtr value;
  if (found != around_.inputs.end()) value = std::make_shared<const Json>(*found);
  note_read(inputs_scope, key, value);
  return value;
}

JsonPtr DeliveryCall::read(const std::string& scope, std::string_view key) {
  const std::pair<std::string, std::string> wanted{scope, std::string(key)};
  const auto own = own_.find(wanted);
  JsonPtr before = around_.values.read(delivery_, scope, key);
  note_read(scope, key, before);
  if (own == own_.end()) return before;
  JsonPtr now = std::move(before);
  for (const JsonPtr& one : own->second) {
    now = around_.values.combined(scope, wanted.second, now, one);
  }
  return now && now->is_null() ? nullptr : now;
}

void DeliveryCall::write(const std::string& scope, std::string_view key, Json value) {
  std::vector<JsonPtr>& own = own_[{scope, std::string(key)}];
  if (!around_.values.combines(scope, std::string(key))) own.clear();
  own.push_back(std::make_shared<const Json>(std::move(value)));
}

std::string DeliveryCall::private_scope() const { return detail::private_scope(node_.path); }
std::string DeliveryCall::shared_scope(std::string_view name) const {
  return detail::shared_scope(around_.body.plan().scopes[node_.scope].path, name);
}

Result<Reply> DeliveryCall::request(std::string_view port, const std::string& type,
                                    const Json& payload, const RequestOptions& options) {
  const WorkflowSpec& spec = *around_.body.plan().scopes[node_.scope].spec;
  const auto known = spec.ports.find(port);
  if (known == spec.ports.end()) {
    return Error{Errc::invalid_argument,
                 "port \"" + printable(port) + "\" is not declared (WorkflowBuilder::port)"};
  }
  if (known->second.type != type) {
    return Error{Errc::invalid_argument, "port \"" + printable(port) + "\" answers with \"" +
                                             known->second.type + "\", not with \"" + type + "\""};
  }
  TRIAGE_TRYV(check_json(payload, "a request's payload"));
  if (!effects_.empty()) {
    return Error{Errc::invalid_argument,
                 "request at port \"" + std::string(port) + "\" inside effect \"" +
                     printable(effects_.back()) + "\" of executor \"" + node_.path +
                     "\": what an effect does cannot wait for an answer; ask before it"};
  }
  const int index = ++requests_[std::string(port)];
  std::string id = node_.path + "/" + std::to_string(delivery_.occurrence) + "/" +
                   std::string(port) + "/" + std::to_string(index);
  const std::string question = question_of(type, payload);
  std::optional<Asked> asked_before = around_.requests->find(id);
  // An edit, a mended executor or a rollback may have made another question of it.
  const bool anew =
      asked_before && question_of(asked_before->type, asked_before->payload) != question;
  if (anew) asked_before.reset();
  const auto answer = around_.answers.find(id);
  if (answer != around_.answers.end() && (asked_before || around_.branch.empty()) &&
      (answer->second.to.empty() || answer->second.to == question)) {
    Reply reply{.request = id, .expired = answer->second.expired};
    if (!reply.expired) reply.answer = answer->second.value;
    return outcome::success(std::move(reply));
  }
  Asked asked{.id = id,
              .executor = node_.path,
              .port = std::string(port),
              .type = type,
              .payload = payload,
              .expires = options.expires,
              .branch = around_.branch,
              .anew = anew ? question : std::string()};
  if (asked_before) {  // A handler that says "in an hour" would name a new time in each call.
    asked.expires = asked_before->expires;
    asked.branch = asked_before->branch;
    asked.anew = asked_before->anew;
  } else if (is_expired(asked, around_.clock)) {
    return Reply{.request = id, .expired = true};
  }
  asked_.push_back(std::move(asked));
  return Reply{.request = id};
}

std::optional<Resource> DeliveryCall::resource(std::string_view name) const {
  for (const Resource& one : *around_.resources) {
    if (one.name == name) return one;
  }
  return std::nullopt;
}

RunId DeliveryCall::nested_run_id(const Json& task) const {
  if (!around_.store) return {};
  Json what{{"agent", node_.path},
            {"occurrence", delivery_.occurrence},
            {"task", digest_of(Message{"", std::make_shared<const Json>(task)})}};
  if (!around_.rolled_back.is_null()) what["rolled_back"] = around_.rolled_back;
  return inner_run_id(around_.attempt.run_id(), show(what));
}

void DeliveryCall::stepped(bool tool, bool model) {
  active();
  around_.checkpoints.recorded(delivery_.node, 1, 0);
  const auto happened = [&](CheckpointTrigger trigger) {
    around_.checkpoints.happened(trigger, delivery_.node, delivery_.occurrence);
  };
  happened(CheckpointTrigger::agent_step);
  if (model) happened(CheckpointTrigger::llm_call_completed);
  if (tool) happened(CheckpointTrigger::tool_call_completed);
}

// A handler's own threads may begin effects, too, but not ask.
void DeliveryCall::effect_begins(std::string_view key) {
  around_.checkpoints.happened(CheckpointTrigger::before_effect, delivery_.node,
                               delivery_.occurrence);
  around_.checkpoints.recorded(delivery_.node, 0, 0);
  if (std::this_thread::get_id() == thread_) effects_.emplace_back(key);
}

void DeliveryCall::effect_ends() noexcept {
  if (std::this_thread::get_id() == thread_) effects_.pop_back();
}

void DeliveryCall::plan_patched() {
  if (node_.spec->options.patches_plan) {
    patched_ = true;
  } else {
    stick({Errc::invalid_argument, "executor \"" + node_.path +
                                       "\" has changed a plan without having said that it may "
                                       "(ExecutorOptions::patches_plan)"});
  }
}

void DeliveryCall::stick(Error error) {
  const std::scoped_lock lock(mutex_);
  if (!sticky_) sticky_ = std::move(error);
}

}  // namespace triage::inline v0_1::workflow::detail
