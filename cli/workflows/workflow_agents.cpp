// SPDX-License-Identifier: MIT
// The agents of a workflow file: their input, and handling their output.
#include "arguments/exact_json.hpp"
#include "placeholders.hpp"
#include "programs/command_lineage.hpp"
#include "programs/run_program.hpp"
#include "supervise/process/child.hpp"
#include "triage/detail/try.hpp"
#include "workflow_file.hpp"

#ifdef TRIAGE_HAS_LLM
#include "llm/http.hpp"
#include "llm/protocol.hpp"
#endif

#include <cstdlib>
#include <optional>
#include <utility>

namespace triage::inline v0_1::cli {
namespace {

using workflow::Context;
using workflow::TaskInput;

// What a task references as {{key}}: only those inputs make a branch run it again.
struct Told {
  std::string description{};
  Json inputs = Json::object();
};

Told told(const std::string& text, const Json& defaults, const Context& context) {
  Told all;
  std::size_t at = 0;
  for (auto found = next_placeholder(text, at); found; found = next_placeholder(text, at)) {
    const auto& [begin, end, key] = *found;
    if (!defaults.contains(key)) {  // Not an input: ordinary text.
      all.description += text.substr(at, end - at);
    } else {
      const auto given = context.find_input(key);
      const Json value = given ? *given : defaults.at(key);
      all.description += text.substr(at, begin - at);
      all.description += value.is_string() ? value.get<std::string>() : show(value);
      all.inputs[key] = value;
    }
    at = end;
  }
  all.description += text.substr(at);
  return all;
}

// Redacted first: half a secret would not be recognised.
std::string beginning(const std::string& text, const Redactor& redactor) {
  return printable(redactor.text(text).substr(0, 200));
}

// What an agent prints when it fails may hold its secrets.
Error fail(Context& context, const Redactor& redactor, Failure failure) {
  failure.text = redactor.text(failure.text);
  return context.fail(std::move(failure));
}

bool is_out_of_time(const Context& context) {
  const auto until = context.deadline();
  return until && real_clock()->now() >= *until;
}

// Who is cut off by an abort has not failed: it begins again when the run goes on.
bool is_cut_off(const Context& context) {
  return context.stop_token().stop_requested() && !is_out_of_time(context);
}
Error cut_off() { return {Errc::cancelled, "the agent was stopped at its work"}; }

// How a command's failure is told.
std::string text_of(const ProgramEnd& end) {
  std::string tail = end.error_tail;
  tail.erase(tail.find_last_not_of(" \t\r\n") + 1);
  if (end.killed) {
    const std::string killed = "the command was killed";
    return tail.empty() ? killed : killed + "; its standard error ended with: " + tail;
  }
  const std::string status = std::to_string(end.status);
  if (tail.empty()) return "the command exited with status " + status;
  return tail + " (exit status " + status + ")";
}

// What all commands of a file are run with.
struct CommandSetting {
  std::string folder{};
  Json defaults{};
  std::shared_ptr<const Redactor> redactor{};
  std::shared_ptr<CommandLineage> lineage{};
};

Result<Json> run_command(const AgentSpec& spec, const CommandSetting& setting,
                         const TaskInput& task, Context& context) {
  const Redactor& redactor = *setting.redactor;
  const Told what = told(task.description, setting.defaults, context);
  Json before = Json::object();
  for (const auto& one : task.context) before[one.task] = one.output;
  const Json in{{"task", task.id},
                {"description", what.description},
                {"inputs", what.inputs},
                {"context", std::move(before)},
                {"run", context.run_id()}};
  TRIAGE_TRY(lineage, setting.lineage->of(context.run_id()));
  auto ran = run_program({.command = spec.command,
                          .folder = setting.folder,
                          .in = show(in) + "\n",
                          .lineage = std::move(lineage),
                          .until = context.deadline(),
                          .stop = context.stop_token()});
  if (!ran) return std::move(ran).error();
  const ProgramEnd& end = ran.value();
  if ((end.killed || end.status != 0) && is_cut_off(context)) return cut_off();
  if (end.too_much) {
    return context.fail(
        {.text = "the command was killed: it printed more than 16 MB, the most that is allowed",
         .type = FailureType::schema_mismatch,
         .reason = "output_too_large"});
  }
  if (end.killed || end.status != 0) return fail(context, redactor, {.text = text_of(end)});
  auto out = exact_json(end.out);
  if (!out) {
    return context.fail({.text = "the command's output would not be kept as it is: " +
                                 redactor.text(out.error().detail),
                         .type = FailureType::schema_mismatch,
                         .reason = "output_inexact"});
  }
  if (out.value()) return outcome::success(*std::move(out).value());
  return context.fail({.text = "the command printed no JSON: " + beginning(end.out, redactor),
                       .type = FailureType::schema_mismatch,
                       .reason = "output_no_json"});
}

#ifdef TRIAGE_HAS_LLM

constexpr std::size_t most_response_bytes = 16U << 20U;

Json request_body(const AgentSpec& spec, const TaskInput& task, const std::string& description) {
  std::string text = description;
  for (const auto& one : task.context) {
    text += "\n\nResult of \"" + one.task + "\":\n" +
            (one.output.is_string() ? one.output.get<std::string>() : show(one.output));
  }
  Json messages = Json::array();
  if (!spec.system.empty()) messages.push_back({{"role", "system"}, {"content", spec.system}});
  messages.push_back({{"role", "user"}, {"content", text}});
  Json body{{"model", spec.model}, {"messages", std::move(messages)}};
  if (spec.max_tokens != 0) body["max_tokens"] = spec.max_tokens;
  return body;
}

// Null if the member is missing.
Json member(const Json& answer, const char* pointer) {
  try {
    return answer.at(Json::json_pointer(pointer));
  } catch (const std::exception&) {
    return nullptr;
  }
}

// Why an answer is not all that the model had to say.
std::optional<Failure> cut_short(const Json& answer) {
  const Json why = member(answer, "/choices/0/finish_reason");
  if (why == "length") {
    return Failure{.text =
                       "the endpoint cut the answer off: it is longer than max_tokens, or than "
                       "the model allows",
                   .type = FailureType::context_overflow,
                   .reason = "output_truncated"};
  }
  if (why == "content_filter") {
    return Failure{.text = "the endpoint's content filter has withheld the answer",
                   .type = FailureType::refused,
                   .reason = "policy"};
  }
  return std::nullopt;
}

// The model's text. Anything else is a failure with the endpoint's response.
Result<Json> content_of(const std::string& body, const Redactor& redactor, Context& context) {
  const Json answer = Json::parse(body, nullptr, false);
  if (const auto usage = triage::detail::usage_in(LlmProtocol::openai, answer)) {
    context.record_usage(*usage);
  }
  if (auto failure = cut_short(answer)) return context.fail(*std::move(failure));
  Json content = member(answer, "/choices/0/message/content");
  if (!content.is_string() || content == "") {
    return context.fail({.text = "the endpoint's answer has no text: " + beginning(body, redactor),
                         .type = FailureType::schema_mismatch,
                         .reason = "no_content"});
  }
  context.record_step({.action = "ask the model", .llm_output = content.get<std::string>()});
  return outcome::success(std::move(content));
}

Result<Json> ask_endpoint(const AgentSpec& spec, const Json& defaults, const Redactor& redactor,
                          const TaskInput& task, Context& context) {
  const Told what = told(task.description, defaults, context);
  TRIAGE_TRYV(triage::detail::init_http());
  triage::detail::HttpPost request{
      .url = spec.url + "/chat/completions",
      .headers = {"Content-Type: application/json", "Accept: application/json"},
      .body = show(request_body(spec, task, what.description)),
      .timeout = spec.timeout,
      .max_response_bytes = most_response_bytes,
      .stops = {context.stop_token(), std::stop_token()}};
  if (!spec.key_env.empty()) {
    const char* key = std::getenv(spec.key_env.c_str());  // NOLINT(concurrency-mt-unsafe)
    if (key != nullptr) request.headers.push_back("Authorization: Bearer " + std::string(key));
  }
  const triage::detail::HttpAnswer answer = triage::detail::post(request);
  const bool answered = answer.problem.empty() && answer.status / 100 == 2;
  if (!answered && is_cut_off(context)) return cut_off();
  if (!answered && is_out_of_time(context)) {
    return context.fail({.text = "the endpoint has not answered in full"});
  }
  if (answer.status == 0 || !answer.problem.empty()) {
    return fail(context, redactor, {.text = answer.problem});
  }
  if (answer.status / 100 != 2) {
    std::string text = answer.body.substr(0, 4096);
    if (text.empty()) text = "the endpoint answered with status " + std::to_string(answer.status);
    return fail(context, redactor,
                {.text = std::move(text), .http_status = answer.status, .headers = answer.headers});
  }
  return content_of(answer.body, redactor, context);
}

// A key is only sent over https, or to this machine.
Result<void> check_key(const std::string& name, const AgentSpec& spec) {
  if (spec.key_env.empty()) return outcome::success();
  if (std::getenv(spec.key_env.c_str()) == nullptr) {  // NOLINT(concurrency-mt-unsafe)
    return Error{Errc::not_found, "agent \"" + printable(name) + "\": the environment variable " +
                                      printable(spec.key_env) + " (key_env) is not set"};
  }
  if (spec.url.rfind("https://", 0) == 0 || triage::detail::is_this_machine(spec.url)) {
    return outcome::success();
  }
  return Error{Errc::invalid_argument, "agent \"" + printable(name) +
                                           "\": a key is sent over https only, or to this "
                                           "machine; the url is " +
                                           printable(spec.url)};
}

#endif

}  // namespace

std::string with_inputs(const std::string& text, const Json& defaults, const Context& context) {
  return told(text, defaults, context).description;
}

Result<AgentWorks> works_of(const WorkflowFile& file, const std::string& folder,
                            const std::shared_ptr<const Redactor>& redactor,
                            const std::shared_ptr<CommandLineage>& lineage) {
  AgentWorks works;
  const CommandSetting setting{folder, file.inputs, redactor, lineage};
  for (const auto& [name, spec] : file.agents) {
    if (!spec.command.empty()) {
      if (const auto found = supervise::find_program(spec.command.front(), folder); !found) {
        return Error{Errc::invalid_argument, "agents." + printable(name) + ".command is " +
                                                 show(spec.command) + ": " + found.error().detail +
                                                 "; allowed is a program that can be run from " +
                                                 printable(folder)};
      }
      works[name] = [spec = spec, setting](const TaskInput& task, Context& context) {
        return run_command(spec, setting, task, context);
      };
      continue;
    }
#ifdef TRIAGE_HAS_LLM
    TRIAGE_TRYV(check_key(name, spec));
    works[name] = [spec = spec, inputs = file.inputs, redactor](const TaskInput& task,
                                                                Context& context) {
      return ask_endpoint(spec, inputs, *redactor, task, context);
    };
#else
    return Error{Errc::unsupported,
                 "agent \"" + printable(name) + "\" has a url, and this build has no libcurl"};
#endif
  }
  return outcome::success(std::move(works));
}

}  // namespace triage::inline v0_1::cli
