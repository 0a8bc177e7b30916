// SPDX-License-Identifier: MIT
#pragma once
// The invariants for any bytes given to the record decoder, and seeds.

#include "triage/record.hpp"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace triage::test {

// Decodes `bytes` in every way. Aborts, which a fuzzer reports, unless accepted input survives
// another round unchanged.
inline void decode_and_check(std::string_view bytes) {
  if (const auto json = detail::decode_cbor(bytes)) {
    std::string again;
    detail::encode_cbor(json.value(), again);
    const auto twice = detail::decode_cbor(again);
    std::string third;
    if (twice) detail::encode_cbor(twice.value(), third);
    if (!twice || third != again) std::abort();
  }
  if (const auto step = detail::decode_step(bytes)) {
    std::string again;
    detail::encode_step(step.value(), again);
    const auto twice = detail::decode_step(again);
    std::string third;
    if (twice) detail::encode_step(twice.value(), third);
    if (!twice || third != again) std::abort();
  }
  const auto body = std::make_shared<const std::string>(bytes);
  for (int kind = 0; kind <= 21; ++kind) {
    const Record record(1, static_cast<RecordKind>(kind), {}, body);
    static_cast<void>(record.body());
    static_cast<void>(record.step());
  }
}

// One input of each form, and some that must be rejected.
inline std::vector<std::string> decoder_seeds() {
  std::vector<std::string> seeds{"",         "\xa0",         "\x80",     "\x18\x18",     "\xf4",
                                 "\xf6",     "\xf7",         "\x5f\xff", "\xfb\x7f\xf0", "\x9f\xff",
                                 "\xa1\x61", "\xa1\x01\x02", "\x1b"};
  const auto add = [&](const Json& json) { detail::encode_cbor(json, seeds.emplace_back()); };
  add(Json{{"state", Json{{"page", 1}, {"ratio", 0.5}}}, {"replaced", true}});
  add(Json{{"first", 1}, {"last", 18446744073709551615ULL}});
  add(Json::array({nullptr, -1, "text", Json::array(), Json::object()}));
  detail::encode_step(Step{.action = "fetch",
                           .tool_called = "http_get",
                           .tool_input = {{"url", "x"}},
                           .tool_output = Json::array({1, 2}),
                           .llm_output = "\xff",
                           .error = "no",
                           .exception_type = "std::runtime_error",
                           .http_status = 503,
                           .json_rpc_code = -32601,
                           .grpc_status = 14,
                           .agent_id = "a",
                           .idempotent = true,
                           .metadata = Json::object()},
                      seeds.emplace_back());
  return seeds;
}

}  // namespace triage::test
