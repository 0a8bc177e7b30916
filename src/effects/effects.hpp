// SPDX-License-Identifier: MIT
#pragma once
// The effects of one run: running them, settling doubts, undoing them.

#include "triage/effect.hpp"
#include "triage/journal.hpp"
#include "triage/result.hpp"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace triage::inline v0_1::detail {

class Run;

// Canonical JSON for the stored hash: key order and 1 versus 1.0 make no difference.
[[nodiscard]] std::string encoded_arguments(const Json& arguments);
[[nodiscard]] std::string idempotency_key(const RunId& run, std::string_view key,
                                          std::uint64_t generation, bool compensation);

// Stored instead of a hash: a branch was given this result whatever the arguments are.
inline constexpr std::string_view any_arguments = "*";
// The "cause" of an effect_withdrawn: see ForkOptions::refuse_new_effects.
inline constexpr std::string_view refused_cause = "the branch carries out no new effects";

[[nodiscard]] std::string effect_name(std::string_view key);  // For messages.
// Errc::in_doubt, with what to do about it. run: where that is recorded; empty: nowhere.
[[nodiscard]] Error doubt_about(std::string_view key, const std::string& why, const RunId& run);

// The effects in progress. Thread-safety: all members may be called from several threads at once.
class EffectTurns {
 public:
  // Waits while another thread holds this key. Errors: Errc::invalid_argument if this thread does,
  // or if the other one waits, directly or not, for a key that this one holds.
  [[nodiscard]] Result<void> enter(std::string_view key);
  void leave(std::string_view key);

 private:
  [[nodiscard]] std::optional<Error> never_free(std::string_view key) const;

  std::mutex mutex_{};
  std::condition_variable left_{};
  std::map<std::string, std::thread::id, std::less<>> running_{};
  std::map<std::thread::id, std::string> waiting_{};  // What each thread waits for.
};

// Arguments whose hash matched the recorded one, so that the next request for the result need not
// hash them again. Keeps only a few small ones.
class ProvenArguments {
 public:
  [[nodiscard]] bool contains(std::string_view key, std::string_view encoded,
                              std::string_view digest) const;
  void add(std::string_view key, std::string encoded, const std::string& digest);

 private:
  struct Entry {
    std::string encoded{};
    std::string digest{};
  };
  std::map<std::string, Entry, std::less<>> entries_{};
};

// The fields that an effect's intent and result share, besides the key.
[[nodiscard]] Json described(const EffectState& effect);

enum class Input : std::uint8_t;

// A view of a run, created on demand. Locks the run itself.
class Effects {
 public:
  explicit Effects(Run& run) noexcept : run_(run) {}

  // --- effects.cpp, for Attempt: see Attempt::try_effect.
  [[nodiscard]] Result<Json> perform(int attempt, const EffectRequest& request);

  // --- compensation.cpp; called while no attempt is open.
  // Resolves the doubts among the effects to undo. Returns why one cannot be resolved.
  [[nodiscard]] std::optional<std::string> settle_after(Sequence target);
  // Whether anything after `target` must be undone.
  [[nodiscard]] bool owes_after(Sequence target) const;
  struct Undone {
    std::vector<std::string> failures{};  // A sentence for each effect that cannot be undone.
    std::optional<Error> prevented{};     // Why the rest waits: a stop, or a failing store.
  };
  // Undoes those effects, newest first.
  Undone compensate_after(Sequence target);
  // Ends the run such that what is left is undone when it goes on.
  Input leave_undoing(Sequence target, const Error& why);

 private:
  enum class Find : std::uint8_t { in_place, in_doubt };

  // --- effects.cpp
  [[nodiscard]] Result<void> check(const EffectRequest& request) const;
  // The result, if it is recorded and nothing else needs checking.
  [[nodiscard]] std::shared_ptr<const Json> recorded(const EffectRequest& request,
                                                     std::string_view encoded) const;
  [[nodiscard]] Result<Json> decide(const EffectRequest& request, EffectState known,
                                    EffectState next);
  [[nodiscard]] Result<Json> run(const EffectRequest& request, const EffectState& next);
  [[nodiscard]] Result<Json> keep_result(const EffectRequest& request, const EffectState& next,
                                         const EffectCall& call, Json result);
  // Why a branch that refuses new effects does not run this one; the refusal is recorded.
  [[nodiscard]] std::optional<Error> refused(std::string_view key, const EffectState& next);
  [[nodiscard]] Error in_doubt(std::string_view key, const std::string& why);
  [[nodiscard]] EffectCall call_of(std::string_view key, const EffectState& effect,
                                   bool compensation) const;
  [[nodiscard]] EffectState::Status status_of(std::string_view key) const;
  // Returns the record's sequence.
  Sequence record(RecordKind kind, std::string_view key, const EffectState& effect, Json fields);
  [[nodiscard]] Result<void> record_durably(RecordKind kind, std::string_view key,
                                            const EffectState& effect, Json fields);
  [[nodiscard]] static Reconciled ask(const Reconcile::Function& function, const EffectCall& call);
  [[nodiscard]] Reconciled settle(std::string_view key, const EffectState& known,
                                  const EffectOptions* options);
  // The options this process was given for the effect. The caller holds the run's mutex.
  [[nodiscard]] const EffectOptions* live_options(std::string_view key) const;
  [[nodiscard]] const Reconcile::Function* find_reconcile(std::string_view key,
                                                          const EffectState& known,
                                                          const EffectOptions* options) const;

  // --- compensation.cpp
  [[nodiscard]] Reconciled settle_compensation(std::string_view key, const EffectState& known,
                                               const EffectOptions* options);
  [[nodiscard]] const Compensation* find_compensation(std::string_view key,
                                                      const EffectState& known,
                                                      const EffectOptions* options) const;
  [[nodiscard]] std::vector<std::pair<std::string, EffectState>> undoable_after(Sequence target,
                                                                                Find what) const;
  // What came of undoing one effect.
  struct Undoing {
    std::optional<std::string> problem{};  // Why it is or may still be in place; empty: undone.
    bool in_doubt = false;                 // It may have been undone.
    std::optional<Error> prevented{};  // Nobody has tried: the run was stopped, or its store fails.
  };
  [[nodiscard]] Undoing compensate(const std::string& key, const EffectState& effect);
  [[nodiscard]] Undoing call_compensation(const std::string& key, const EffectState& effect,
                                          const Compensation& compensation);
  [[nodiscard]] Undoing settle_thrown(const std::string& key, const EffectState& effect,
                                      const Compensation& compensation, std::string cause);
  [[nodiscard]] bool call_again(const std::string& key, const EffectState& effect);
  [[nodiscard]] bool wait(Duration delay);

  Run& run_;
};

}  // namespace triage::inline v0_1::detail
