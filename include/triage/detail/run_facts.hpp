// SPDX-License-Identifier: MIT
#pragma once
// The part of a journal about the run itself: how it began and ended, and its decisions and waits.

#include "triage/clock.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"
#include "triage/record.hpp"
#include "triage/run_id.hpp"
#include "triage/usage.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {

// A nested run that this one was suspended for.
struct AwaitedRun {
  std::string agent{};     // Its agent …
  std::string task{};      // … its task's hash; empty: unknown …
  std::string ticket{};    // … and its token's hash.
  Json decision{};         // The action decided on for it; null: none.
  std::string by{};        // Who decided.
  Sequence handed_at = 0;  // The record of a call that was given its end; 0: none yet.
};

namespace detail {

// What the accessors of Journal return. Rollbacks rewind none of it. Thread-safety: none; its owner
// locks.
struct RunFacts {
  Json start{};
  Json finished{};
  Json stopped{};
  Json suspended{};
  Json decision{};
  Json forked{};
  int attempts = 0;
  int suspended_attempts = 0;
  Usage usage{.calls = 0};
  std::vector<HistoryEntry> history{};
  bool undecided = false;  // The newest entry of the history is a suspension.
  bool aborting = false;
  std::optional<Sequence> compensating_after{};
  std::vector<std::pair<Sequence, Sequence>> gaps{};
  std::set<std::string> approved{};
  std::map<std::string, std::optional<Json>, std::less<>> signals{};
  std::map<RunId, AwaitedRun, std::less<>> awaited{};
  std::map<std::string, WallTime, std::less<>> sleeps{};
  std::map<std::string, WallTime::duration, std::less<>> served_waits{};

  void apply(RecordKind kind, const Json& body, WallTime time);
  // A failure has been handled.
  void take_action(HistoryEntry entry);

 private:
  void suspend(const Json& body);
  void go_on(const Json& body, WallTime time);
};

}  // namespace detail
}  // namespace triage::inline v0_1
