// SPDX-License-Identifier: MIT
#pragma once
// The samples of an experiment in a file, so that it goes on after a kill.

#include "triage/lab/experiment.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1::lab::detail {

using SampleKey = std::pair<std::size_t, std::uint64_t>;  // Condition and seed.
using Samples = std::map<SampleKey, Sample>;

// JSON Lines: the factors, then a sample a line. Not thread-safe.
class SampleFile {
 public:
  // Reads what is there into `samples`, cuts off a last line that was not written to its end, and
  // goes on behind it. Errors: Errc::conflict (other factors), Errc::corrupt, Errc::io.
  [[nodiscard]] static Result<SampleFile> open(const std::filesystem::path& path,
                                               const std::vector<Factor>& factors,
                                               Samples& samples);
  // Errors: Errc::io.
  [[nodiscard]] Result<void> append(const SampleKey& key, const Sample& sample);

 private:
  explicit SampleFile(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
  std::ofstream out_{};
};

}  // namespace triage::inline v0_1::lab::detail
