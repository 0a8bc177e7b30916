// SPDX-License-Identifier: MIT
#pragma once
// A classifier that asks a language model over HTTP (target triage::llm, needs libcurl).

#include "triage/budget.hpp"
#include "triage/classifier.hpp"
#include "triage/json.hpp"
#include "triage/price_table.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace triage::inline v0_1 {

enum class LlmProtocol : std::uint8_t {
  openai,     // POST base_url/chat/completions; the key as "Authorization: Bearer …".
  anthropic,  // POST base_url/messages; the key as "x-api-key: …".
};

struct LlmOptions {
  LlmProtocol protocol = LlmProtocol::openai;
  // Up to the version: "https://api.openai.com/v1", "http://127.0.0.1:11434/v1",
  // "https://api.anthropic.com/v1". No user name, query or fragment.
  std::string base_url{};
  std::string model{};  // 1 to 256 bytes.
  // Empty: none is sent. Never appears in errors, evidence or prompts.
  std::string api_key{};
  // The key is sent over https and to this machine; over http elsewhere only if this is true.
  bool key_over_http = false;
  // For a whole call, connecting included; above 0, at most 10 minutes. A nearer run deadline
  // (ClassifierInput::remaining) takes precedence.
  Duration timeout = std::chrono::seconds(15);
  std::stop_token stop_token{};       // Ends a call in progress, like ClassifierInput::stop_token.
  std::size_t max_text_bytes = 4096;  // Of each quoted text; 256 to 65,536.
  std::size_t max_response_bytes = 256U * 1024;  // 1,024 to 4 MiB. A longer response is ignored.
  std::uint32_t max_output_tokens = 300;         // 16 to 65,536.
  // Every call first reserves from it: calls, tokens, and money at the prices below. Null: no
  // limit. A budget requires a price for the model.
  std::shared_ptr<Budget> budget{};
  PriceTable prices = PriceTable::built_in();
  // Requests an answer that fits a JSON Schema (response_format) in the OpenAI protocol; set to
  // false for servers that do not support it. Answers are checked either way.
  bool ask_for_schema = true;
  // Finally merged into the request as a JSON merge patch (RFC 7386); null removes a field:
  // {{"max_tokens", nullptr}, {"max_completion_tokens", 300}}. An object, or null.
  Json extra{};
};

// Quotes the failure as data to a model, which answers with a failure type and a confidence. In all
// other cases the answer is unknown, with the reason in the evidence (source "llm"): a timeout, an
// HTTP error, a response that is not a JSON object, an unknown type, a confidence outside 0 to 1, a
// spent budget, a cancelled run. Nothing else that the model writes is used. classify() never
// throws.
// Sent to the model: text, exception types and codes of the failure and its causes; tool, error and
// codes of the last failed step; names of the contract's tools. See docs/llm.md.
//
// Thread-safety: classify() may be called from several threads at once. It blocks during the call.
class LlmClassifier final : public Classifier {
 public:
  // Errors: Errc::invalid_argument, naming the option, its value (never the key's) and what is
  // allowed; Errc::io if libcurl cannot be initialised.
  [[nodiscard]] static Result<std::shared_ptr<LlmClassifier>> create(LlmOptions options);

  [[nodiscard]] Classification classify(const ClassifierInput& input) override;

 private:
  explicit LlmClassifier(LlmOptions options) : options_(std::move(options)) {}
  Classification ask(const ClassifierInput& input) const;

  const LlmOptions options_;
};

}  // namespace triage::inline v0_1
