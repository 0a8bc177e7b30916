// SPDX-License-Identifier: MIT
#pragma once
// The steps that the benchmarks record: about 1 KB each when encoded.

#include "triage/step.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace triage::bench {

enum class Shape : std::uint8_t {
  flat,        // One long text, like a page or a model's answer.
  structured,  // A tree of small values, like an API's response.
};

[[nodiscard]] Step make_step(Shape shape, std::size_t index);
[[nodiscard]] std::vector<Step> make_steps(Shape shape, std::size_t count);
// Their total size when stored.
[[nodiscard]] std::size_t encoded_size(const std::vector<Step>& steps);

}  // namespace triage::bench
