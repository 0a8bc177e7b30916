// SPDX-License-Identifier: MIT
#include "supervise/protocol/protocol_records.hpp"

#include "supervise/process/tail.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/reserved.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

constexpr std::size_t longest_quote = 60;
constexpr std::array requests{
    "effect", "effect_done", "effect_not_done", "get", "propose_step", "sleep_until", "wait"};
constexpr std::array records{"step", "state", "usage", "checkpoint", "failure"};
constexpr std::array signs{"heartbeat", "drain"};

constexpr const char* text = "a text";
constexpr const char* whole = "a whole number, 0 or more";

// Null if the key is not there.
const Json* given(const Json& fields, const char* key) {
  const auto found = fields.find(key);
  return found == fields.end() || found->is_null() ? nullptr : &*found;
}

// Takes fields over one by one, until one is wrong.
class Fields {
 public:
  Fields(const Json& fields, std::string name) : fields_(fields), name_(std::move(name)) {}

  template <class Target>
  void text_into(const char* key, Target& target) {
    take(key, text, &Json::is_string,
         [&](const Json& value) { target = value.get<std::string>(); });
  }
  template <class Target>
  void flag_into(const char* key, Target& target) {
    take(key, "true or false", &Json::is_boolean,
         [&](const Json& value) { target = value.get<bool>(); });
  }
  void any_into(const char* key, Json& target) {
    if (const Json* value = given(fields_, key)) target = *value;
  }
  void count_into(const char* key, std::uint64_t& target) {
    take(key, whole, &Json::is_number_unsigned,
         [&](const Json& value) { target = value.get<std::uint64_t>(); });
  }
  void cost_into(const char* key, double& target) {
    take(key, "a number, 0 or more", &Json::is_number,
         [&](const Json& value) { target = value.get<double>(); });
    if (target < 0.0) refuse(key, fields_[key], "a number, 0 or more");
  }
  void status_into(const char* key, std::optional<int>& target) {
    constexpr const char* allowed = "a whole number from 100 to 599";
    take(key, allowed, &Json::is_number_integer, [&](const Json& value) {
      const auto number = value.get<std::int64_t>();
      if (number < 100 || number > 599) return refuse(key, value, allowed);
      target = static_cast<int>(number);
    });
  }
  [[nodiscard]] const std::optional<Error>& wrong() const noexcept { return wrong_; }

 private:
  template <class Use>
  void take(const char* key, const char* allowed, bool (Json::*fits)() const noexcept,
            const Use& use) {
    const Json* value = given(fields_, key);
    if (value == nullptr) return;
    if ((value->*fits)()) {
      use(*value);
    } else {
      refuse(key, *value, allowed);
    }
  }
  void refuse(const char* key, const Json& value, const char* allowed) {
    if (!wrong_) wrong_ = wrong_value(name_ + "." + key, value, allowed);
  }

  const Json& fields_;
  std::string name_;
  std::optional<Error> wrong_{};
};

Result<Usage> usage_from_json(const Json& fields) {
  if (!fields.is_object()) return wrong_value("usage", fields, "an object");
  Usage usage{.calls = 1};
  Fields all(fields, "usage");
  all.count_into("input_tokens", usage.input_tokens);
  all.count_into("output_tokens", usage.output_tokens);
  all.cost_into("cost_usd", usage.cost_usd);
  all.count_into("calls", usage.calls);
  if (all.wrong()) return *all.wrong();
  return outcome::success(usage);
}

// Of a long report both ends, as long as a stream's tail, and whole words of them: half a secret
// would not be recognised.
std::string both_ends_of(std::string report) {
  constexpr std::string_view blanks = " \t\r\n";
  constexpr std::size_t half = Tail::longest / 2;
  if (report.size() <= Tail::longest) return report;
  const std::size_t end = report.find_last_of(blanks, half);
  const std::size_t again = report.find_first_of(blanks, report.size() - half);
  const std::string first = report.substr(0, end == std::string::npos ? half : end);
  const std::string last = report.substr(again == std::string::npos ? report.size() - half : again);
  return first + " … " + std::to_string(report.size() - first.size() - last.size()) + " bytes … " +
         last;
}

// A type of docs/labels.md settles the matter; any other name is one of an exception.
Result<Failure> failure_from_json(const Json& fields) {
  auto failure = json_error(Json{{"error", fields}});
  if (!failure) return wrong_value("failure", fields, "a text or an object");
  failure->text = both_ends_of(std::move(failure->text));
  if (!fields.is_object()) return outcome::success(*std::move(failure));
  std::string type;
  Fields all(fields, "failure");
  all.text_into("message", type);
  type.clear();
  all.text_into("type", type);
  all.text_into("reason", failure->reason);
  if (all.wrong()) return *all.wrong();
  if (const auto known = parse_failure_type(type); known && *known != FailureType::unknown) {
    failure->type = known;
    if (failure->exception_type == type) failure->exception_type.clear();
  } else {
    failure->reason.clear();
  }
  return outcome::success(*std::move(failure));
}

std::string listed() {
  using detail::joined;
  return joined(records) + ", " + joined(signs) + ", " + joined(requests);
}

}  // namespace

Error wrong_value(const std::string& key, const Json& value, std::string_view allowed) {
  std::string shown = show(value);
  if (shown.size() > longest_quote) shown = shown.substr(0, longest_quote) + "…";
  return {Errc::invalid_argument,
          key + " is " + printable(shown) + "; allowed is " + std::string(allowed)};
}

std::string_view integer_beyond_64_bits(std::string_view json) noexcept {
  constexpr std::size_t always_fit = 18;  // Digits.
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      const std::size_t end = std::min(json.find_first_not_of("0123456789+-.eE", i), json.size());
      const std::string_view number = json.substr(i, end - i);
      i = end - 1;
      if (number.size() <= always_fit || number.find_first_of(".eE") != std::string_view::npos) {
        continue;
      }
      const char* last = number.data() + number.size();
      std::int64_t negative = 0;
      std::uint64_t other = 0;
      const auto read = c == '-' ? std::from_chars(number.data(), last, negative)
                                 : std::from_chars(number.data(), last, other);
      if (read.ec == std::errc::result_out_of_range) return number;
    }
  }
  return {};
}

Error too_large(std::string_view number) {
  std::string shown(number.substr(0, longest_quote));
  if (shown.size() < number.size()) shown += "…";
  return {Errc::invalid_argument,
          "the number " + shown +
              " is too large; allowed are whole numbers from -9223372036854775808 to "
              "18446744073709551615, and others as texts"};
}

Result<void> check_keys(const Json& message) {
  const char* first = nullptr;
  const auto conflict = [&](const char* key) {
    return Error{Errc::invalid_argument, std::string(first) + " and " + key +
                                             " cannot stand in one line: a request stands alone"};
  };
  for (const char* key : requests) {
    if (!message.contains(key)) continue;
    if (first != nullptr) return conflict(key);
    first = key;
  }
  bool known = first != nullptr;
  for (const char* key : records) {
    if (!message.contains(key)) continue;
    if (first != nullptr) return conflict(key);
    known = true;
  }
  known = known || std::any_of(signs.begin(), signs.end(),
                               [&](const char* key) { return message.contains(key); });
  if (known) return outcome::success();
  return Error{Errc::invalid_argument, "it has none of the keys " + listed()};
}

Result<Step> step_from_json(const Json& fields, const std::string& key) {
  if (fields.is_string()) return Step{.action = fields.get<std::string>()};
  if (!fields.is_object()) return wrong_value(key, fields, "a text or an object");
  Step step;
  Fields all(fields, key);
  all.text_into("action", step.action);
  all.text_into("tool_called", step.tool_called);
  all.any_into("tool_input", step.tool_input);
  all.any_into("tool_output", step.tool_output);
  all.text_into("llm_output", step.llm_output);
  all.text_into("error", step.error);
  all.text_into("exception_type", step.exception_type);
  all.status_into("http_status", step.http_status);
  all.text_into("agent_id", step.agent_id);
  all.flag_into("idempotent", step.idempotent);
  all.any_into("metadata", step.metadata);
  if (all.wrong()) return *all.wrong();
  return outcome::success(std::move(step));
}

Result<LineRecords> records_from_json(const Json& message) {
  LineRecords found;
  if (const auto step = message.find("step"); step != message.end()) {
    TRIAGE_TRY(read, step_from_json(*step));
    found.step = std::move(read);
  }
  if (const auto state = message.find("state"); state != message.end()) {
    if (!state->is_object()) return wrong_value("state", *state, "an object");
    found.state = *state;
  }
  if (const auto usage = message.find("usage"); usage != message.end()) {
    TRIAGE_TRY(read, usage_from_json(*usage));
    found.usage = read;
  }
  if (const auto label = message.find("checkpoint"); label != message.end()) {
    const bool taken =
        label->is_string() && detail::is_reserved(label->get_ref<const std::string&>());
    if (!label->is_string() || taken) {
      return wrong_value("checkpoint", *label, "a text that does not begin with triage/");
    }
    found.label = label->get<std::string>();
  }
  if (const auto failure = message.find("failure"); failure != message.end()) {
    TRIAGE_TRY(read, failure_from_json(*failure));
    found.failure = std::move(read);
  }
  return outcome::success(std::move(found));
}

Json refusal(const Error& error) {
  return {{"ok", false}, {"code", to_string(error.code)}, {"error", error.message()}};
}

}  // namespace triage::inline v0_1::supervise
