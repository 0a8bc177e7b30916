// SPDX-License-Identifier: MIT
#include "triage/workflow/context.hpp"
#include "base/json_words.hpp"
#include "call.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/workflow/agent_executor.hpp"

#include <utility>

namespace triage::inline v0_1::workflow {
namespace {

constexpr std::size_t longest_key = 256;

}  // namespace

std::shared_ptr<const Json> Scope::find(std::string_view key) const {
  return call_->read(name_, key);
}

void Scope::set(std::string_view key, Json value) {
  if (key.empty() || key.size() > longest_key || triage::detail::is_reserved(key)) {
    call_->stick({Errc::invalid_argument,
                  "state key \"" + printable(key) +
                      "\" is not allowed: 1 to 256 bytes that do not begin with \"triage/\""});
    return;
  }
  if (auto checked = check_json(value, "a value of the state"); !checked) {
    call_->stick(std::move(checked).error());
    return;
  }
  call_->write(name_, key, std::move(value));
}

const std::string& Context::executor() const noexcept { return call_->executor(); }
const std::string& Context::run_id() const { return attempt().run_id(); }
int Context::occurrence() const noexcept { return call_->occurrence(); }
int Context::superstep() const noexcept { return call_->superstep(); }

void Context::send_message(Message message) { call_->send(std::move(message), std::nullopt); }
void Context::send_message_to(std::string_view target, Message message) {
  call_->send(std::move(message), target);
}
void Context::output_message(Message message) { call_->output(std::move(message)); }

std::shared_ptr<const Json> Context::find_input(std::string_view key) const {
  return call_->input(key);
}
Scope Context::state() { return {call_, call_->private_scope()}; }
Scope Context::shared(std::string_view name) { return {call_, call_->shared_scope(name)}; }

namespace {

detail::Reply reply_to(Result<detail::Reply>& asked, detail::Call& call) {
  detail::Reply reply = std::move(asked).value();
  if (reply.answer || reply.expired) return reply;
  call.park();
  throw RequestPending{};
}

}  // namespace

Json Context::request_json(std::string_view port, std::string type, const Json& payload,
                           const RequestOptions& options) {
  auto asked = call_->request(port, type, payload, options);
  if (!asked) give_up(std::move(asked).error());
  detail::Reply reply = reply_to(asked, *call_);
  if (reply.answer) return *std::move(reply.answer);
  give_up(call_->fail({.text = "nobody answered request \"" + reply.request + "\" in time",
                       .type = FailureType::timeout,
                       .reason = "request_expired"}));
}

std::optional<Json> Context::try_request_json(std::string_view port, std::string type,
                                              const Json& payload, const RequestOptions& options) {
  auto asked = call_->request(port, type, payload, options);
  if (!asked) give_up(std::move(asked).error());
  return reply_to(asked, *call_).answer;
}

Attempt& Context::attempt() const { return call_->attempt(); }

std::string Context::effect_key(std::string_view key) const {
  return call_->executor() + "/" + std::string(key);
}
// No path has an "@", and the length ends the resource: no other effect has this key.
std::string Context::effect_key_on(std::string_view resource, std::string_view key) const {
  return call_->executor() + "@" + std::to_string(resource.size()) + ":" + std::string(resource) +
         "/" + std::string(key);
}

void Context::record_step(Step step) {
  if (!step.agent_id) step.agent_id = call_->executor();
  const bool tool = step.tool_called.has_value();
  const bool model = step.llm_output.has_value();
  call_->inner_attempt().record_step(std::move(step));
  call_->stepped(tool, model);
}
void Context::plan_patched() { call_->plan_patched(); }
void Context::effect_begins(std::string_view key) { call_->effect_begins(key); }
void Context::effect_ends() noexcept { call_->effect_ends(); }
std::optional<Error> Context::refusal(std::string_view what) const {
  if (!call_->refuses_effects()) return call_->out_of_time();
  return Error{Errc::conflict, "effect \"" + printable(what) + "\" of executor \"" + executor() +
                                   "\" would be new, and this branch refuses new effects "
                                   "(ForkEffects::refuse_new)"};
}
Result<Reservation> Context::reserve(const Usage& estimate) {
  return call_->inner_attempt().reserve(estimate);
}
void Context::unreadable_result(std::string_view key, const std::string& why) {
  give_up({Errc::conflict, "the recorded result of effect \"" + printable(key) +
                               "\" does not convert to the type that is asked for: " +
                               triage::detail::json_words(why)});
}

// The run's own effect stores the result for replays and branches. Only the resource's effect knows
// whether the act happened, so it may be asked again.
Json Context::act_on(std::string_view resource, std::string_view key, const Json* arguments,
                     const Act& act, const EffectOptions& options) {
  std::optional<Error> failed;
  const auto on_resource = [&]() -> Json {
    auto done = call_->act_on({resource, key, arguments, act, options});
    if (done) return std::move(done).value();
    failed = std::move(done).error();
    throw EffectNotDone(failed->detail);
  };
  const EffectOptions outer{.semantics = EffectSemantics::at_least_once};
  try {
    return carry_out(effect_key_on(resource, key), key, arguments, on_resource, outer);
  } catch (const EffectNotDone&) {
    if (failed) give_up(*std::move(failed));
    throw;
  }
}
void Context::record_usage(const Usage& usage) {
  call_->inner_attempt().record_usage(usage);
  call_->active();
}
std::stop_token Context::stop_token() const { return call_->stop_token(); }
std::optional<TimePoint> Context::deadline() const { return call_->deadline(); }
Error Context::fail(Failure failure) { return call_->fail(std::move(failure)); }

void Context::give_up(Error error) {
  call_->stick(std::move(error));
  throw AttemptStopped{};
}

namespace detail {

NestedRun nested_run(Context& context, const Json& task) {
  Call& call = *context.call_;
  // The agent's run is new, so its effects would be new too.
  if (auto refused = context.refusal("the agent's run")) context.give_up(*std::move(refused));
  RunOptions options{
      .deadline = call.lasts_until(), .store = call.store(), .parent = &call.inner_attempt()};
  if (call.deadline() != options.deadline) {  // Only what it does tells how long it may take.
    options.stop_token = call.stop_token();
    options.on_activity = [&call] { call.active(); };
  }
  return {.id = call.nested_run_id(task), .options = std::move(options)};
}

void send_returned(Context& context, Message message) {
  Call& call = *context.call_;
  if (call.has_edges()) {
    call.send(std::move(message), std::nullopt);
  } else {
    call.output(std::move(message));
  }
}

}  // namespace detail

}  // namespace triage::inline v0_1::workflow
