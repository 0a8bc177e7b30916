// SPDX-License-Identifier: MIT
#include "triage/llm/classifier.hpp"

#include "http.hpp"
#include "prompt.hpp"
#include "protocol.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace triage::inline v0_1 {
namespace {

constexpr std::size_t longest_url = 2048;
constexpr std::size_t longest_key = 4096;
constexpr std::size_t longest_model = 256;
constexpr Duration longest_timeout = std::chrono::minutes(10);
constexpr std::uint64_t bytes_per_token = 3;  // A low ratio, so that estimates are rather too high.
constexpr double most_doubtful = 0.98;        // Opinions never make a classification certain.

Error bad(const std::string& option, const std::string& value, const std::string& allowed) {
  return {Errc::invalid_argument, "llm: " + option + " is " + value + "; allowed is " + allowed};
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

template <class T>
Result<void> check_range(const char* option, T value, T least, T most) {
  if (value >= least && value <= most) return outcome::success();
  return bad(option, std::to_string(value), std::to_string(least) + " to " + std::to_string(most));
}

Result<void> check_url(const std::string& url) {
  const std::size_t scheme = url.rfind("https://", 0) == 0  ? 8
                             : url.rfind("http://", 0) == 0 ? 7
                                                            : 0;
  const bool whole = scheme != 0 && url.size() > scheme && url[scheme] != '/';
  if (whole && url.size() <= longest_url && is_plain(url) &&
      url.find_first_of("@?#", scheme) == std::string::npos) {
    return outcome::success();
  }
  // URLs with user names or queries often contain passwords or keys, so they are not shown.
  const bool secret = url.find_first_of("@?") != std::string::npos;
  return bad("base_url",
             secret ? "one with \"@\" or \"?\"" : "\"" + printable(url.substr(0, 200)) + "\"",
             "an http or https URL of at most 2048 bytes without user name, query or fragment");
}

Result<void> check_key(const LlmOptions& options) {
  const bool printable_key = is_plain(options.api_key);
  if (!printable_key || options.api_key.size() > longest_key) {
    return bad("api_key", printable_key ? "too long" : "not plain ASCII without spaces",
               "printable ASCII of at most 4096 bytes");
  }
  const bool secure =
      options.base_url.rfind("https://", 0) == 0 || detail::is_this_machine(options.base_url);
  if (options.api_key.empty() || secure || options.key_over_http) return outcome::success();
  return bad("base_url", "\"" + options.base_url + "\"",
             "https for a key that leaves this machine, unless key_over_http is true");
}

Result<void> check(const LlmOptions& options) {
  TRIAGE_TRYV(check_url(options.base_url));
  TRIAGE_TRYV(check_key(options));
  if (options.model.empty() || options.model.size() > longest_model) {
    return bad("model", std::to_string(options.model.size()) + " bytes long", "1 to 256 bytes");
  }
  if (options.timeout <= Duration::zero() || options.timeout > longest_timeout) {
    return bad("timeout", std::to_string(options.timeout.count()) + " ns",
               "above 0 and at most 10 minutes");
  }
  TRIAGE_TRYV(check_range<std::size_t>("max_text_bytes", options.max_text_bytes, 256, 65'536));
  TRIAGE_TRYV(
      check_range<std::size_t>("max_response_bytes", options.max_response_bytes, 1024, 4U << 20U));
  TRIAGE_TRYV(
      check_range<std::uint32_t>("max_output_tokens", options.max_output_tokens, 16, 65'536));
  if (!options.extra.is_object() && !options.extra.is_null()) {
    return bad("extra", std::string("of type ") + options.extra.type_name(), "an object or null");
  }
  TRIAGE_TRYV(check_json(options.extra, "llm: extra"));
  if (options.budget != nullptr) {
    if (options.extra.contains("model")) {
      return bad("extra", "with a \"model\"", "another one than `model` only without a budget");
    }
    const auto price = options.prices.price(options.model);
    if (!price) return Error{Errc::invalid_argument, "llm: with a budget, " + price.error().detail};
  }
  return outcome::success();
}

Classification abstain(std::string why) {
  return {.evidence = {{.source = "llm", .detail = std::move(why)}}};
}

// `extra` overrides the options in the request, so also here.
std::uint64_t most_output_tokens(const LlmOptions& options) {
  for (const char* name : {"max_completion_tokens", "max_tokens"}) {
    const auto found = options.extra.find(name);
    if (found == options.extra.end() || !found->is_number_integer()) continue;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, found->get<std::int64_t>()));
  }
  return options.max_output_tokens;
}

// An upper bound of the tokens and money of a call, as far as known before it.
Usage estimate(const LlmOptions& options, const detail::LlmRequest& request) {
  Usage usage{.input_tokens = request.body.size() / bytes_per_token + 1,
              .output_tokens = most_output_tokens(options)};
  usage.cost_usd = options.prices.cost(options.model, usage).value();
  return usage;
}

// What to book for a call: the reported usage; without one, the estimate if the server may have
// worked; zero tokens if it refused or never received the request.
Usage spent(const LlmOptions& options, const Usage& estimated, const detail::HttpAnswer& answer,
            const std::optional<Usage>& reported) {
  if (reported) {
    Usage usage = *reported;
    usage.cost_usd = options.prices.cost(options.model, usage).value();
    return usage;
  }
  const bool refused = answer.status >= 400 && answer.problem.empty();
  return refused || !answer.maybe_served ? Usage{} : estimated;
}

Classification judged(const LlmOptions& options, const detail::LlmAnswer& answer) {
  Classification result;
  const double confidence = std::min(answer.confidence, most_doubtful);
  result.evidence.push_back({.source = "llm",
                             .suggests = answer.type,
                             .detail = "The model " + printable(options.model) + " says " +
                                       std::string(to_string(answer.type)),
                             .confidence = answer.type == FailureType::unknown ? 0 : confidence});
  if (answer.type == FailureType::unknown) return result;
  result.type = answer.type;
  result.reason = "by_llm";
  result.confidence = confidence;
  return result;
}

}  // namespace

Result<std::shared_ptr<LlmClassifier>> LlmClassifier::create(LlmOptions options) {
  while (!options.base_url.empty() && options.base_url.back() == '/') options.base_url.pop_back();
  TRIAGE_TRYV(check(options));
  TRIAGE_TRYV(detail::init_http());
  return outcome::success(std::shared_ptr<LlmClassifier>(new LlmClassifier(std::move(options))));
}

Classification LlmClassifier::classify(const ClassifierInput& input) {
  try {
    // A type named by the failure itself is taken as it is.
    if (input.failure.type) return no_classifier()->classify(input);
    return ask(input);
  } catch (...) {
    // Out of memory, or a category that throws: better unknown than losing the failure.
    return {};
  }
}

Classification LlmClassifier::ask(const ClassifierInput& input) const {
  const Duration timeout = std::min(options_.timeout, input.remaining.value_or(options_.timeout));
  if (timeout <= Duration::zero() || input.deadline_passed) {
    return abstain("The model was not asked: no time is left");
  }
  if (options_.stop_token.stop_requested() || input.stop_token.stop_requested()) {
    return abstain("The model was not asked: it was cancelled");
  }
  const detail::LlmRequest request = detail::make_request(
      options_, detail::make_prompt(input, options_.max_text_bytes, options_.api_key));
  Reservation reservation;
  Usage estimated;
  if (options_.budget != nullptr) {
    estimated = estimate(options_, request);
    auto reserved = options_.budget->reserve(estimated);
    if (!reserved) return abstain("The model was not asked: " + reserved.error().detail);
    reservation = std::move(reserved).value();
  }
  const detail::HttpAnswer answer =
      detail::post({.url = request.url,
                    .headers = request.headers,
                    .body = request.body,
                    .timeout = timeout,
                    .max_response_bytes = options_.max_response_bytes,
                    .stops = {options_.stop_token, input.stop_token}});
  detail::LlmReading reading;
  if (!answer.problem.empty()) {
    reading.problem = answer.problem;
  } else if (answer.status < 200 || answer.status > 299) {
    reading.problem = "HTTP status " + std::to_string(answer.status);
  } else {
    reading = detail::read_response(options_.protocol, answer.body);
  }
  if (options_.budget != nullptr) {
    reservation.settle(spent(options_, estimated, answer, reading.usage));
  }
  if (!reading.answer) return abstain("The model gave no answer: " + reading.problem);
  return judged(options_, *reading.answer);
}

}  // namespace triage::inline v0_1
