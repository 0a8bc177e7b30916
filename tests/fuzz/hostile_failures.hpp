// SPDX-License-Identifier: MIT
#pragma once
// Failures of any size for which a careless search takes quadratic time: long errors, many steps,
// many links between them. Shared by the fuzzer, a test and a benchmark.

#include "triage/classifier.hpp"
#include "triage/step.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace triage::test {

struct HostileFailure {
  Failure failure{};
  Trajectory trajectory{};
  AgentContract contract{};
  Json result{};
};

// About `bytes` bytes, mostly repetitions of `piece`, which is not empty.
struct HostileShape {
  const char* name;
  HostileFailure (*make)(std::size_t bytes, std::string_view piece);
};

inline std::string repeated(std::string_view piece, std::size_t bytes) {
  std::string text;
  text.reserve(bytes + piece.size());
  while (text.size() < bytes) text += piece;
  return text;
}

inline HostileFailure error_almost_in_text(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = repeated(piece, bytes * 9 / 10)}};
  made.trajectory.append({.action = "x", .error = repeated(piece, bytes / 10) + "!"});
  return made;
}

inline HostileFailure newest_errors_almost_in_text(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = repeated(piece, bytes / 2)}};
  for (int i = 0; i < 5; ++i) {
    made.trajectory.append({.action = "x",
                            .tool_called = "t",
                            .error = repeated(piece, bytes / 10) + std::to_string(i),
                            .http_status = 503});
  }
  return made;
}

// Every input and result has the maximum number of values, none of which is in the text, which
// reports something missing.
inline HostileFailure values_that_are_not_named(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = repeated(piece, bytes / 100) + " does not exist"}};
  const std::string value = repeated(piece, std::min<std::size_t>(bytes / 32'768, 120));
  for (int i = 0; i < 256; ++i) {
    Step step{.action = "x", .tool_called = "t" + std::to_string(i % 7)};
    for (int k = 0; k < 64; ++k) {
      step.tool_input["in" + std::to_string(k)] = value + std::to_string(i * 64 + k);
      step.tool_output["out" + std::to_string(k)] = value + std::to_string(100'000 + i * 64 + k);
    }
    made.trajectory.append(std::move(step));
  }
  return made;
}

inline HostileFailure values_almost_in_results(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  const std::size_t length = std::min<std::size_t>(bytes / 256 / 18, 3'900);
  for (int i = 0; i < 256; ++i) {
    Step step{.action = "x", .tool_called = "t"};
    for (int k = 0; k < 9; ++k) {
      step.tool_input["in" + std::to_string(k)] =
          repeated(piece, length * 9 / 10) + "!" + std::to_string(i * 9 + k);
      step.tool_output["out" + std::to_string(k)] =
          repeated(piece, length) + std::to_string(i * 9 + k);
    }
    made.trajectory.append(std::move(step));
  }
  return made;
}

inline HostileFailure inputs_that_differ_at_their_end(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  const std::string same = repeated(piece, bytes / 256);
  for (int i = 0; i < 256; ++i) {
    Step step{.action = "x", .tool_called = "t", .tool_input = {{"a", same}, {"z", i}}};
    if (i % 2 == 0) step.error = "failed";
    made.trajectory.append(std::move(step));
  }
  return made;
}

inline HostileFailure results_without_common_members(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  const std::string key = repeated(piece, bytes / 16'384);
  for (int i = 0; i < 256; ++i) {
    Step step{.action = "x", .tool_called = "t", .tool_input = {{"i", i}}};
    for (int k = 0; k < 64; ++k) {
      step.tool_output[key + std::to_string(i * 64 + k)] = 5;
      step.tool_input[key.substr(key.size() / 2) + std::to_string(i * 64 + k)] = nullptr;
    }
    made.trajectory.append(std::move(step));
  }
  return made;
}

inline HostileFailure many_small_members(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = repeated(piece, bytes / 100)}};
  for (int i = 0; i < 256; ++i) {
    Json numbers = Json::array();
    for (std::size_t k = 0; k < bytes / 2'048; ++k)
      numbers.push_back(i % 3 == 0 ? 0 : 1'000 + k % 60);
    made.trajectory.append(
        {.action = "x", .tool_called = "t", .tool_input = numbers, .tool_output = numbers});
  }
  return made;
}

inline HostileFailure same_large_calls(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  Json input = Json::array();
  for (std::size_t k = 0; k < bytes / 8; ++k) input.push_back(1);
  for (int i = 0; i < 4; ++i) {
    made.trajectory.append({.action = "x",
                            .tool_called = "t",
                            .tool_input = input,
                            .llm_output = repeated(piece, 64),
                            .agent_id = "a" + std::to_string(i % 2)});
  }
  return made;
}

inline HostileFailure deep_values(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = repeated("[", bytes / 2) + std::string(piece)}};
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes / 1'024, 4'096); ++i) {
    Json value = std::string(piece);
    for (int k = 0; k < 250; ++k) value = Json::array({std::move(value)});
    made.trajectory.append(
        {.action = "x", .tool_called = "t", .tool_input = value, .tool_output = value});
  }
  return made;
}

inline HostileFailure many_steps(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  for (std::size_t i = 0; i < bytes / 100; ++i) {
    made.trajectory.append(
        {.action = "x",
         .tool_called = i % 2 == 0 ? std::optional<std::string>("t") : std::nullopt,
         .tool_input = {{"q", 1}},
         .tool_output = "same",
         .llm_output = repeated(piece, 20)});
  }
  return made;
}

inline HostileFailure agents_that_interrupt(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  for (int i = 0; i < 96; ++i) {
    made.trajectory.append({.action = "x",
                            .tool_called = repeated(piece, bytes / 192),
                            .tool_input = {{"q", repeated(piece, bytes / 192)}, {"i", i / 16}},
                            .tool_output = 1,
                            .agent_id = "agent" + std::to_string(i % 8)});
  }
  return made;
}

inline HostileFailure many_causes(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  for (std::size_t i = 0; i < bytes / 200; ++i) {
    made.failure.causes.push_back({.exception_type = "E", .text = repeated(piece, 100)});
  }
  return made;
}

inline HostileFailure long_causes(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  for (std::size_t i = 0; i < 16; ++i) {
    made.failure.causes.push_back({.exception_type = repeated("std::_Nested_exception<", 1'000),
                                   .text = repeated(piece, bytes / 16)});
  }
  return made;
}

inline HostileFailure many_headers(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom", .http_status = 429}};
  made.failure.headers.emplace_back("retry-after", repeated(piece, bytes / 4));
  for (std::size_t i = 0; i < bytes / 60; ++i) {
    made.failure.headers.emplace_back("x-ratelimit-reset-a", "2099-01-01T00:00:00Z");
  }
  return made;
}

inline HostileFailure tools_outside_the_manifest(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  const std::string name = repeated(piece, 60).substr(0, 60);
  for (std::size_t i = 0; i < bytes / 512; ++i) {
    made.contract.tools.push_back({.name = name + std::to_string(i)});
  }
  for (int i = 0; i < 256; ++i) {
    made.trajectory.append({.action = "x", .tool_called = "_" + name + std::to_string(i)});
  }
  return made;
}

inline HostileFailure forbidden_text_almost_said(std::size_t bytes, std::string_view piece) {
  HostileFailure made{.failure = {.text = "boom"}};
  made.contract.constraints = {repeated(piece, 3'000) + "!", repeated(piece, bytes / 50) + "!"};
  made.result = repeated(piece, bytes / 2);
  for (int i = 0; i < 10; ++i) {
    made.trajectory.append({.action = "x", .llm_output = repeated(piece, bytes / 20)});
  }
  return made;
}

inline constexpr HostileShape hostile_shapes[] = {
    {"error almost in the text", error_almost_in_text},
    {"newest errors almost in the text", newest_errors_almost_in_text},
    {"values that are not named", values_that_are_not_named},
    {"values almost in results", values_almost_in_results},
    {"inputs that differ at their end", inputs_that_differ_at_their_end},
    {"results without common members", results_without_common_members},
    {"many small members", many_small_members},
    {"same large calls", same_large_calls},
    {"deep values", deep_values},
    {"many steps", many_steps},
    {"agents that interrupt each other", agents_that_interrupt},
    {"many causes", many_causes},
    {"long causes", long_causes},
    {"many headers", many_headers},
    {"tools outside the manifest", tools_outside_the_manifest},
    {"forbidden text almost said", forbidden_text_almost_said},
};

inline Classification classify_hostile(const HostileFailure& hostile, Classifier& classifier) {
  return classifier.classify({.failure = hostile.failure,
                              .trajectory = hostile.trajectory,
                              .contract = &hostile.contract,
                              .result = hostile.result.is_null() ? nullptr : &hostile.result});
}

}  // namespace triage::test
