// SPDX-License-Identifier: MIT
#include "supervise/adapters/stream_reader.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t most_calls = 1'000;              // Open at the same time.
constexpr std::size_t longest_output = 16U << 10U;     // Of a tool, as stored.
constexpr double first_millisecond = 100'000'000'000;  // As seconds, this is the year 5138.

// Joins strings and lists of strings; other values become JSON.
std::string as_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  const bool texts =
      value.is_array() &&
      std::all_of(value.begin(), value.end(), [](const Json& one) { return one.is_string(); });
  if (!texts) return show(value);
  std::string all;
  for (const Json& one : value) all += (all.empty() ? "" : "\n") + one.get<std::string>();
  return all;
}

std::optional<double> as_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::string both_ends(std::string text) {
  if (text.size() <= longest_output) return text;
  const std::string left_out = " … " + std::to_string(text.size() - longest_output) + " bytes … ";
  return text.substr(0, longest_output / 2) + left_out +
         text.substr(text.size() - longest_output / 2);
}

void note_call(const StepRule& rule, const Json& event, Step& step) {
  if (const std::string tool = as_text(rule.tool.in(event)); !tool.empty()) {
    step.tool_called = tool;
    step.action = "call " + tool;
  }
  if (Json input = rule.input.in(event); !input.is_null()) step.tool_input = std::move(input);
  if (const std::string said = as_text(rule.said.in(event)); !said.empty()) {
    step.llm_output = said;
    if (step.action.empty()) step.action = "say";
  }
}

// A tool's output is not evidence about the run, so it is stored where no classifier reads it.
void note_result(const StepRule& rule, const Json& event, Step& step) {
  if (!step.metadata.is_object()) step.metadata = Json::object();
  if (!rule.output.empty()) {
    step.metadata["printed"] = both_ends(as_text(rule.output.in(event)));
  }
  if (!rule.failed.empty() && all_hold(rule.failed, event)) step.metadata["failed"] = true;
}

// Calls use for each value at the path, in which "*" is every element.
void for_each_at(const Json& value, const Path& path, std::size_t depth,
                 const std::function<void(const Json&)>& use) {
  if (depth == path.size()) return use(value);
  if (path[depth] == "*") {
    if (!value.is_structured()) return;
    for (const Json& element : value) for_each_at(element, path, depth + 1, use);
  } else if (const Json* found = find(value, {path[depth]})) {
    for_each_at(*found, path, depth + 1, use);
  }
}

std::uint64_t whole(const std::vector<Path>& paths, const Json& event) {
  std::uint64_t sum = 0;
  for (const Path& path : paths) {
    for_each_at(event, path, 0, [&sum](const Json& value) {
      if (!value.is_number_integer() || value <= 0) return;
      sum = detail::saturating_add(sum, value.get<std::uint64_t>());
    });
  }
  return sum;
}

double money(const std::vector<Path>& paths, const Json& event) {
  double sum = 0;
  for (const Path& path : paths) {
    for_each_at(event, path, 0, [&sum](const Json& value) {
      if (value.is_number() && value.get<double>() > 0) sum += value.get<double>();
    });
  }
  return sum;
}

// What a new total adds to the one before; a smaller one was counted from nothing.
template <typename Number>
Number added(Number total, Number& before) {
  if (total == Number{}) return total;  // Not told.
  const Number since = std::exchange(before, total);
  return total >= since ? total - since : total;
}

}  // namespace

Json Source::in(const Json& event) const {
  if (!literal.empty()) return literal;
  const Json* found = path.empty() ? nullptr : find(event, path);
  return found == nullptr ? Json() : *found;
}

StreamReader::StreamReader(const Adapter& adapter, StreamListener listener)
    : adapter_(adapter), listener_(std::move(listener)) {}

void StreamReader::add(std::string_view bytes) {
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (line_.empty()) {
      if (!skipping_) take_line(bytes.substr(0, end));
    } else {
      line_.append(bytes.substr(0, end));
      take_line(line_);
      line_.clear();
    }
    skipping_ = false;
    bytes.remove_prefix(end + 1);
  }
  if (!skipping_) line_.append(bytes);
  if (line_.size() > longest_line) {
    skipping_ = true;
    line_.clear();
  }
}

void StreamReader::finish() {
  take_line(std::exchange(line_, {}));
  for (auto& [id, step] : calls_) {
    step.metadata = {{"unanswered", true}};
    if (listener_.on_step) listener_.on_step(std::move(step));
  }
  calls_.clear();
}

void StreamReader::take_line(std::string_view line) {
  const std::size_t begin = line.find_first_of("{[");
  if (begin == std::string_view::npos || line.find_first_not_of(" \t\r") != begin) return;
  const Json read = Json::parse(line.begin(), line.end(), nullptr, false);
  // Deeper ones cannot be recorded.
  const auto take = [this](const Json& event) {
    if (event.is_object() && check_json(event, "the event", NonFinite::allowed)) take_event(event);
  };
  if (!read.is_array()) return take(read);
  for (const Json& event : read) take(event);
}

void StreamReader::take_event(const Json& event) {
  bool known = false;
  bool works = false;
  bool fails = false;
  for (const EventRule& rule : adapter_.events) {
    if (!all_hold(rule.when, event)) continue;
    known = true;
    fails = fails || rule.failure.has_value();
    if (rule.each.empty()) {
      works = apply(rule, event) || works;
    } else if (const Json* elements = find(event, rule.each);
               elements != nullptr && elements->is_array()) {
      for (const Json& element : *elements) {
        if (all_hold(rule.where, element)) works = apply(rule, element) || works;
      }
    }
  }
  if (known) ++events_;
  if (!works || fails) return;
  failure_.reset();  // The program continues, so it has recovered.
  end_ = StreamEnd::none;
}

bool StreamReader::apply(const EventRule& rule, const Json& event) {
  if (const std::string session = as_text(rule.session.in(event));
      !session.empty() && session != session_) {
    session_ = session;
    if (listener_.on_session) listener_.on_session(session);
  }
  const auto tell = [this](Step step) {
    if (listener_.on_step) listener_.on_step(std::move(step));
  };
  if (rule.call && calls_.size() < most_calls) {
    note_call(*rule.call, event, calls_[as_text(rule.call->id.in(event))]);
  }
  if (rule.result) {
    const auto found = calls_.find(as_text(rule.result->id.in(event)));
    Step step = found == calls_.end() ? Step{.action = "result"} : std::move(found->second);
    if (found != calls_.end()) calls_.erase(found);
    note_result(*rule.result, event, step);
    tell(std::move(step));
  }
  if (rule.step) {
    Step step;
    note_call(*rule.step, event, step);
    if (!rule.step->output.empty() || !rule.step->failed.empty()) {
      note_result(*rule.step, event, step);
    }
    tell(std::move(step));
  }
  if (rule.usage) note_usage(*rule.usage, event);
  if (rule.failure) note_failure(*rule.failure, event);
  if (!rule.busy.empty()) {
    const Json* tasks = find(event, rule.busy);
    busy_ = tasks != nullptr && tasks->is_array() && !tasks->empty();
  }
  if (rule.end != StreamEnd::none) {
    end_ = rule.end;
    if (listener_.on_end) listener_.on_end(end_);
  }
  return rule.call || rule.result || (rule.step && rule.step->said.empty());
}

// Fields missing in a later event keep their earlier values.
void StreamReader::note_failure(const FailureRule& rule, const Json& event) {
  if (!failure_) failure_.emplace();
  Failure& failure = failure_->failure;
  if (std::string text = as_text(rule.text.in(event)); !text.empty())
    failure.text = std::move(text);
  if (std::string code = as_text(rule.code.in(event)); !code.empty() && code != "unknown") {
    failure.exception_type = std::move(code);
  }
  if (const auto status = as_number(rule.http_status.in(event));
      status && *status >= 100 && *status <= 599) {
    failure.http_status = static_cast<int>(*status);
  }
  if (const auto wait = as_number(rule.retry_after.in(event));
      wait && *wait >= 0 && *wait < first_millisecond / 1'000) {
    failure.retry_after =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*wait));
  }
  if (const auto moment = as_number(rule.resets_at.in(event)); moment && *moment > 0) {
    failure_->resets_at = *moment < first_millisecond ? *moment : *moment / 1'000;
  }
  if (rule.type) {
    failure.type = rule.type;
    failure.reason = rule.reason;
  }
}

void StreamReader::note_usage(const UsageRule& rule, const Json& event) {
  Usage usage{.input_tokens = whole(rule.input_tokens, event),
              .output_tokens = whole(rule.output_tokens, event),
              .cost_usd = money(rule.cost_usd, event),
              .calls = std::max<std::uint64_t>(whole(rule.calls, event), 1)};
  const auto& totals = rule.totals;
  if (totals.input_tokens) usage.input_tokens = added(usage.input_tokens, totals_.input_tokens);
  if (totals.output_tokens) usage.output_tokens = added(usage.output_tokens, totals_.output_tokens);
  if (totals.cost_usd) usage.cost_usd = added(usage.cost_usd, totals_.cost_usd);
  if (listener_.on_usage) listener_.on_usage(usage);
}

}  // namespace triage::inline v0_1::supervise
