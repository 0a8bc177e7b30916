// SPDX-License-Identifier: MIT
#pragma once
// What the copies and branches of a Chaos share, and what each branch has of its own.

#include "triage/lab/chaos.hpp"

#include <any>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::lab::detail {

struct ChaosRoot {
  FaultMix mix{};
  std::optional<Error> problem{};
  bool by_schedule = false;
  std::map<std::string, std::vector<Injection>, std::less<>> planned{};  // By place.
  std::shared_ptr<std::atomic<bool>> armed = std::make_shared<std::atomic<bool>>(false);

  void note(const Injection& injection);
  [[nodiscard]] Schedule noted() const;
  [[nodiscard]] std::size_t count() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

 private:
  mutable std::mutex mutex_{};
  Schedule injected_{};
  std::atomic<std::size_t> count_{0};
};

// The faults met by a visit.
struct Visit {
  std::optional<Injection> delay{};  // latency or clock_jump.
  std::optional<Injection> fault{};
};

// The kind of place visited: some faults only occur at some kinds.
enum class Place : std::uint8_t {
  call,
  opaque_call,  // What it returns cannot be changed, nor can it be made twice.
  store,        // An operation.
  record,       // One that was read.
  clock,
};
[[nodiscard]] bool happens_at(Fault fault, Place place) noexcept;

// Thread-safety: all members may be called from several threads at once.
class ChaosBranch {
 public:
  ChaosBranch(std::shared_ptr<ChaosRoot> root, ChaosOptions options, std::string name);

  // Counts the visit and decides what it meets, without recording it yet.
  [[nodiscard]] Visit visit(const Site& site, Place kind);
  [[nodiscard]] bool wants_values(const Site& site) const;
  [[nodiscard]] std::any last_value(const Site& site) const;
  void keep_value(const Site& site, std::any value);
  // At most until the deadline. A length of 0: until then.
  enum class Slept : std::uint8_t { all, until_deadline, stopped };
  Slept sleep(Duration length, const CallLimits& limits) const;
  void kill() const;

  [[nodiscard]] ChaosRoot& root() const noexcept { return *root_; }
  [[nodiscard]] const std::shared_ptr<ChaosRoot>& shared_root() const noexcept { return root_; }
  [[nodiscard]] const ChaosOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  [[nodiscard]] std::string place_of(const Site& site) const;
  [[nodiscard]] Visit planned_for(const std::string& place, std::uint64_t visit, Place kind) const;
  [[nodiscard]] Visit drawn_for(const Site& site, const std::string& place, std::uint64_t visit,
                                Place kind) const;

  const std::shared_ptr<ChaosRoot> root_;
  const ChaosOptions options_;
  const std::string name_;  // Empty for the root's own branch.
  const std::uint64_t seed_;
  mutable std::mutex mutex_{};
  std::map<std::string, std::uint64_t, std::less<>> visits_{};
  std::map<std::string, std::any, std::less<>> values_{};
};

}  // namespace triage::inline v0_1::lab::detail
