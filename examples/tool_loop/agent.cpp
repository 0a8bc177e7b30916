// SPDX-License-Identifier: MIT
#include "agent.hpp"

#include "crawl/http_client.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/fallback.hpp"
#include "triage/policies/rollback.hpp"
#include "triage/policies/sequence.hpp"
#include "triage/policies/stop.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace tool_loop {
namespace {

using triage::Attempt;
using triage::FailureType;
using triage::Json;
using triage::Result;

constexpr std::size_t longest_quoted_body = 2000;
constexpr std::size_t shortest_cut = 200;

// The messages so far are the agent's state, a key a message: a rollback, a resume or a crash
// continues the conversation instead of beginning it again.
class Conversation {
 public:
  Conversation(const std::string& task, Attempt& attempt) : attempt_(attempt) {
    const triage::State state = attempt.state();
    while (const Json* next = state.find(key(messages_.size()))) messages_.push_back(*next);
    if (messages_.empty()) add({{{"role", "user"}, {"content", task}}});
  }

  // All at once, so that no call of a tool is ever kept without its result.
  void add(const std::vector<Json>& messages) {
    Json patch = Json::object();
    for (const Json& message : messages) {
      patch[key(messages_.size())] = message;
      messages_.push_back(message);
    }
    attempt_.update_state(std::move(patch));
  }

  // Cuts what tools have said by half. What is worth keeping the model has said itself.
  void shorten() {
    Json patch = Json::object();
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (messages_[i]["role"] != "tool") continue;
      const std::string content = messages_[i]["content"];
      if (content.size() < shortest_cut) continue;
      messages_[i]["content"] = triage::printable(content.substr(0, content.size() / 2)) +
                                " [cut: the conversation was too long]";
      patch[key(i)] = messages_[i];
    }
    attempt_.update_state(std::move(patch));
  }

  [[nodiscard]] const Json& messages() const { return messages_; }

 private:
  static std::string key(std::size_t i) { return "message:" + std::to_string(i); }

  Attempt& attempt_;
  Json messages_ = Json::array();
};

triage::Error failed(Attempt& attempt, triage::Step step, triage::Failure failure) {
  step.error = failure.text;
  attempt.record_step(std::move(step));
  return attempt.fail(std::move(failure));
}

// Never longer than the run may last.
std::chrono::milliseconds timeout_of(const Setup& setup, Attempt& attempt) {
  const auto deadline = attempt.deadline();
  if (!deadline) return setup.timeout;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*deadline - triage::real_clock()->now());
  return std::clamp(left, std::chrono::milliseconds(1), setup.timeout);
}

// What is wrong with a message from the model. Certain findings are stated, so that no classifier
// has to guess.
std::optional<triage::Failure> flaw(const Json& choice, const Json& message) {
  const Json finish = choice.value("finish_reason", Json());
  const Json refusal = message.value("refusal", Json());
  if (refusal.is_string()) {
    return triage::Failure{.text = refusal, .type = FailureType::refused, .reason = "refusal"};
  }
  if (finish == "content_filter") {
    return triage::Failure{
        .text = "content_filter", .type = FailureType::refused, .reason = "content_filter"};
  }
  if (finish == "length") {
    return triage::Failure{.text = "the answer was cut off: no room is left for it",
                           .type = FailureType::context_overflow,
                           .reason = "context_length"};
  }
  if (message.value("tool_calls", Json()).empty() &&
      !message.value("content", Json()).is_string()) {
    return triage::Failure{.text = "it has neither a text nor a call of a tool",
                           .type = FailureType::schema_mismatch,
                           .reason = "empty_message"};
  }
  return std::nullopt;
}

// Some servers send null, or a text.
std::uint64_t tokens(const Json& usage, const char* name) {
  const auto found = usage.find(name);
  return found != usage.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

// One call of the model. Step, usage, codes and headers are recorded, whatever comes back.
Result<Json> ask(const Setup& setup, crawl::HttpClient& http, const Json& messages,
                 Attempt& attempt) {
  const Json request{
      {"model", setup.model}, {"messages", messages}, {"tools", describe(setup.tools)}};
  crawl::PostOptions options{.timeout = timeout_of(setup, attempt)};
  if (!setup.api_key.empty()) options.headers = {"Authorization: Bearer " + setup.api_key};
  const crawl::Response response =
      http.post_json(setup.base_url + "/chat/completions", triage::show(request), options);
  triage::Step step{.action = "ask " + setup.model, .idempotent = true};
  if (response.status != 0) step.http_status = response.status;
  if (!response.ok()) {
    triage::Failure failure{.text = response.error.empty()
                                        ? response.body.substr(0, longest_quoted_body)
                                        : response.error,
                            .http_status = step.http_status,
                            .code = response.code,
                            .headers = response.headers};
    return failed(attempt, std::move(step), std::move(failure));
  }
  const Json body = Json::parse(response.body, nullptr, false);
  const Json choices = body.is_object() ? body.value("choices", Json()) : Json();
  if (!choices.is_array() || choices.empty() || !choices[0].is_object() ||
      !choices[0].value("message", Json()).is_object()) {
    return failed(attempt, std::move(step),
                  {.text = "no chat completion: " + response.body.substr(0, longest_quoted_body),
                   .type = FailureType::external_fault,  // Such as a proxy's error page.
                   .reason = "bad_response"});
  }
  if (const Json usage = body.value("usage", Json()); usage.is_object()) {
    attempt.record_usage({.input_tokens = tokens(usage, "prompt_tokens"),
                          .output_tokens = tokens(usage, "completion_tokens")});
  }
  Json message = choices[0]["message"];
  const Json content = message.value("content", Json());
  if (content.is_string()) step.llm_output = content;
  if (auto failure = flaw(choices[0], message)) {
    return failed(attempt, std::move(step), *std::move(failure));
  }
  attempt.record_step(std::move(step));
  return triage::outcome::success(std::move(message));
}

// A text of JSON, as the protocol says; some send the JSON, some nothing. What cannot be read stays
// a text, which fits no schema of arguments.
Json arguments_in(const Json& given) {
  if (given.is_null()) return Json::object();
  if (!given.is_string()) return given;
  const Json parsed = Json::parse(given.get_ref<const std::string&>(), nullptr, false);
  return parsed.is_discarded() ? given : parsed;
}

// One call of a tool, as the model asks for it.
Result<Json> call_tool(const Setup& setup, const Json& call, Attempt& attempt) {
  const Json function = call.is_object() ? call.value("function", Json()) : Json();
  const Json named = function.is_object() ? function.value("name", Json()) : Json();
  if (!named.is_string() || !call.value("id", Json()).is_string()) {
    return failed(attempt, {.action = "call"},
                  {.text = "a tool call without id, function or name: " + triage::show(call),
                   .type = FailureType::schema_mismatch,
                   .reason = "bad_arguments"});
  }
  const std::string name = named;
  triage::Step step{.action = "call " + name,
                    .tool_called = name,
                    .tool_input = arguments_in(function.value("arguments", Json()))};
  // What breaks the contract is not called. Nobody needs to be told why that failed: a step that is
  // recorded is held against the contract anyway.
  for (const triage::StepBreach& broken : judge_step(contract(setup.tools), step)) {
    if (!broken.checked()) continue;
    return failed(attempt, std::move(step), {.text = broken.evidence.detail});
  }
  const auto tool = std::find_if(setup.tools.begin(), setup.tools.end(),
                                 [&](const Tool& one) { return one.promise.name == name; });
  // A call without a name breaks no contract, and a text may stand for the object that is in it.
  if (tool == setup.tools.end() || !step.tool_input.is_object()) {
    return failed(attempt, std::move(step),
                  {.text = "a tool call needs the name of a tool and an object of arguments",
                   .type = FailureType::schema_mismatch,
                   .reason = "bad_arguments"});
  }
  TRIAGE_TRY(output, tool->run(step.tool_input, attempt));
  step.tool_output = output;
  attempt.record_step(std::move(step));
  return triage::outcome::success(
      Json{{"role", "tool"}, {"tool_call_id", call.at("id")}, {"content", triage::show(output)}});
}

// What the model should know about its last message, if that was at fault; said once, and not kept
// in the conversation. Of everything else the model needs to know nothing.
Json note_for(const triage::Recovery& recovery, Attempt& attempt) {
  const FailureType why = recovery.failure_type;
  const triage::Trajectory steps = attempt.trajectory();
  if (steps.empty() || (why != FailureType::wrong_tool_called &&
                        why != FailureType::schema_mismatch && why != FailureType::refused)) {
    return nullptr;
  }
  std::string note = "Your last message could not be used: " + steps.back().error.value_or("");
  for (const triage::Evidence& one : recovery.evidence) {
    const bool is_new = note.find(one.detail) == std::string::npos;
    if (one.source == "contract" && is_new) note += ". " + one.detail;
  }
  return {{"role", "user"}, {"content", note + ". " + recovery.hint}};
}

}  // namespace

Result<std::string> answer(const Setup& setup, const std::string& task, Attempt& attempt) {
  crawl::HttpClient http;
  Conversation conversation(task, attempt);
  Json note;
  if (const triage::Recovery* recovery = attempt.recovery()) {
    if (recovery->failure_type == FailureType::context_overflow) conversation.shorten();
    note = note_for(*recovery, attempt);
  }
  for (int turn = 0; turn < setup.max_turns; ++turn) {
    Json messages = conversation.messages();
    if (!note.is_null()) messages.push_back(std::exchange(note, nullptr));
    TRIAGE_TRY(reply, ask(setup, http, messages, attempt));
    const Json calls = reply.value("tool_calls", Json::array());
    std::vector<Json> said{reply};
    for (const Json& call : calls) {
      TRIAGE_TRY(result, call_tool(setup, call, attempt));
      said.push_back(std::move(result));
    }
    conversation.add(said);
    if (calls.empty()) return triage::outcome::success(reply.at("content").get<std::string>());
  }
  return attempt.fail({.text = "no answer after " + std::to_string(setup.max_turns) + " turns",
                       .type = FailureType::plan_incomplete,
                       .reason = "too_many_turns"});
}

// Always from where the conversation stood; a retry would begin it again and pay for it twice.
triage::FailurePolicy recovery_policy() {
  const auto go_on = [](std::string hint) {
    return triage::rollback({.latest = true, .or_start = true, .hint = std::move(hint)});
  };
  const auto wait_and_go_on = triage::rollback(
      {.latest = true, .or_start = true, .backoff = triage::BackoffOptions{.max_attempts = 6}});
  return triage::FailurePolicy{}
      .on(FailureType::external_fault, wait_and_go_on)  // 429 and 5xx; keeps to Retry-After.
      .on(FailureType::timeout, wait_and_go_on)
      .on(FailureType::wrong_tool_called, go_on("Call only the tools that you were given."))
      .on(FailureType::schema_mismatch, go_on("Call a tool with one JSON object that fits its "
                                              "parameters."))
      .on(FailureType::context_overflow, go_on({}))  // answer() shortens the conversation.
      .on(FailureType::refused,
          triage::sequence({go_on("Do the part that you can do, and say what you left out."),
                            triage::fallback("The model refused to answer.")}))
      .otherwise(triage::escalate());
}

}  // namespace tool_loop
