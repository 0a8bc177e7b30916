// SPDX-License-Identifier: MIT
// Failure texts from origins unknown to the classifier's model: data/chaos_texts.jsonl.
#include "triage/json.hpp"
#include "triage/lab/chaos.hpp"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace triage::inline v0_1::detail {
extern const std::string_view chaos_texts;  // Built in.
}

namespace triage::inline v0_1::lab {
namespace {

using Texts = std::array<std::vector<Failure>, failure_type_count>;

Failure failure_from(const Json& row) {
  Failure failure{.text = row.at("text").get<std::string>()};
  const Json& codes = row.at("codes");
  if (codes.contains("http_status")) failure.http_status = codes["http_status"].get<int>();
  if (codes.contains("json_rpc_code")) failure.json_rpc_code = codes["json_rpc_code"].get<int>();
  if (codes.contains("grpc_status")) failure.grpc_status = codes["grpc_status"].get<int>();
  if (codes.contains("exception_type")) {
    failure.exception_type = codes["exception_type"].get<std::string>();
  }
  return failure;
}

Texts read_texts() {
  Texts texts;
  std::string_view rest = triage::detail::chaos_texts;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const Json row = Json::parse(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto type = parse_failure_type(row.at("type").get<std::string>());
    if (type) texts[static_cast<std::size_t>(*type)].push_back(failure_from(row));
  }
  return texts;
}

}  // namespace

Failure drawn_failure(FailureType type, std::uint64_t draw) {
  static const Texts texts = read_texts();
  const auto& some = texts[static_cast<std::size_t>(type)];
  if (some.empty()) return {.text = "an injected failure of type " + std::string(to_string(type))};
  return some[draw % some.size()];
}

}  // namespace triage::inline v0_1::lab
