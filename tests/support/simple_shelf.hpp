// SPDX-License-Identifier: MIT
#pragma once
// A simple store as a user might write one, in memory, with faults.

#include "triage/stores/simple.hpp"

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace triage::test {

struct Shelf final : SimpleStore {
  std::map<std::string, SavedCheckpoint> saved{};
  std::map<RunId, std::string> newest{};
  std::vector<std::string> order{};
  bool fail = false;
  bool throws = false;

  Result<void> save(const SavedCheckpoint& checkpoint) override {
    if (throws) throw std::runtime_error("no such bucket");
    if (fail) return Error{Errc::io, "bucket is full"};
    saved[checkpoint.id] = checkpoint;
    newest[checkpoint.run] = checkpoint.id;
    order.push_back(checkpoint.id);
    return outcome::success();
  }
  Result<SavedCheckpoint> load(const std::string& id) override {
    const auto found = saved.find(id);
    if (found == saved.end()) return Error{Errc::not_found, "no checkpoint " + id};
    return outcome::success(found->second);
  }
  Result<std::optional<SavedCheckpoint>> latest(const RunId& run) override {
    const auto found = newest.find(run);
    if (found == newest.end()) return outcome::success(std::optional<SavedCheckpoint>());
    return outcome::success(std::optional<SavedCheckpoint>(saved[found->second]));
  }
};

}  // namespace triage::test
