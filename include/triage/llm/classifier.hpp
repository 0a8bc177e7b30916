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
  // "https://api.anthropic.com/v1". Without user name, query or fragment.
  std::string base_url{};
  std::string model{};  // 1 to 256 bytes.
  // Empty: none is sent. It stands in no error, no evidence and no prompt.
  std::string api_key{};
  // The key is sent over https, or http to this machine; elsewhere over http only if this says so.
  bool key_over_http = false;
  // Of a whole call, connecting included; above 0, at most 10 minutes. The run's deadline
  // (ClassifierInput::remaining) wins if it is nearer.
  Duration timeout = std::chrono::seconds(15);
  std::stop_token stop_token{};       // Ends a call under way, as ClassifierInput::stop_token does.
  std::size_t max_text_bytes = 4096;  // Of every text that is quoted; 256 to 65,536.
  std::size_t max_response_bytes = 256U * 1024;  // 1,024 to 4 MiB. A longer one is no answer.
  std::uint32_t max_output_tokens = 300;         // 16 to 65,536.
  // Every call is reserved here before it is made: calls, tokens, and money at the prices below.
  // Null: no limit. With a budget the model needs a price.
  std::shared_ptr<Budget> budget{};
  PriceTable prices = PriceTable::built_in();
  // Asks the OpenAI protocol for an answer that fits a JSON Schema (response_format); for servers
  // that do not know it, say false. What comes back is checked either way.
  bool ask_for_schema = true;
  // Merged into the request last, as a JSON merge patch (RFC 7386); null takes a field out:
  // {{"max_tokens", nullptr}, {"max_completion_tokens", 300}}. An object, or null.
  Json extra{};
};

// Quotes the failure to a model as data and takes one of the failure types, with a confidence, for
// an answer. Anything else is unknown, with the reason in the evidence (source "llm"): no answer in
// time, an HTTP error, what is no JSON object, a type that does not exist, a confidence outside 0
// to 1, a budget that is spent, a cancelled run. Nothing that the model writes but the type and the
// number goes anywhere. classify() never throws.
// It leaves the machine: text, exception types and codes of the failure and its causes, the last
// failed step's tool, error and codes, names of the contract's tools. See docs/llm.md.
//
// Thread-safety: classify() may be called from several threads at once. It blocks for a call.
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
