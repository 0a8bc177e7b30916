// SPDX-License-Identifier: MIT
#pragma once
// The steps that the benchmarks record: about 1 KB each when encoded.

#include "triage/step.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace triage::bench {

enum class Shape : std::uint8_t {
  flat,        // One long text, as from a page or a model.
  structured,  // A tree of small values, as from an API.
};

[[nodiscard]] Step make_step(Shape shape, std::size_t index);
[[nodiscard]] std::vector<Step> make_steps(Shape shape, std::size_t count);
// Bytes of all of them as they are stored.
[[nodiscard]] std::size_t encoded_size(const std::vector<Step>& steps);

}  // namespace triage::bench
