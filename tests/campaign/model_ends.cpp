// SPDX-License-Identifier: MIT
// How attempts and calls end, and what remains of a run whose process died.
#include "model.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace triage::campaign {
namespace {

using Phase = Hypothesis::Phase;

// If several checkpoints have the same label, the newest one keeps it.
bool are_listed(const std::vector<Position>& known, std::size_t skipped,
                const std::vector<std::pair<int, int>>& checkpoints) {
  for (std::size_t i = 0; i < checkpoints.size(); ++i) {
    const Position& position = known[i + skipped];
    if (position.steps.count != checkpoints[i].first) return false;
    if (position.label == checkpoints[i].second) continue;
    const bool newer =
        std::any_of(known.begin() + static_cast<std::ptrdiff_t>(i + skipped) + 1, known.end(),
                    [&](const Position& other) { return other.label == position.label; });
    if (checkpoints[i].second >= 0 || !newer) return false;
  }
  return true;
}

}  // namespace

void RunModel::attempt_returned(int value) {
  each("the attempt returns", [&](Hypothesis& h, List& out) {
    end_with(std::move(h), Status::finished, success, value, false, out);
  });
}

void RunModel::attempt_failed(int type, int critical, int now) {
  each("the attempt fails", [&](Hypothesis& h, List& out) {
    h.drained = h.facts.size();  // Before classification; its consequences may be lost.
    h.facts.add({.kind = Fact::Kind::failure, .a = type, .b = critical});
    const Facts& facts = h.facts;
    const bool exhausted = facts.all_failures >= program_->max_attempts ||
                           facts.failures[static_cast<std::size_t>(type)] >= program_->max_per_type;
    const bool late = program_->deadline > 0 && now >= program_->deadline;
    if (exhausted || late || facts.attempts >= program_->max_attempts) {
      act(h, Rule{}, type, now, out);
    }
    if (!exhausted) act(h, decided(h, type), type, now, out);
  });
}

void RunModel::attempt_parked(const Waiting& waiting) {
  each("the attempt is put aside",
       [&](Hypothesis& h, List& out) { put_aside(std::move(h), waiting, out); });
}

void RunModel::attempt_cancelled() {
  each("the attempt is cancelled", [&](Hypothesis& h, List& out) {
    end_with(std::move(h), Status::cancelled, bit(Errc::cancelled), 0, false, out);
  });
}

// Its classification is not specified; it is not run again. A doubt is told even then.
void RunModel::attempt_too_late(int now, int effect) {
  each("the attempt is stopped at the deadline", [&](Hypothesis& h, List& out) {
    for (int type = 0; type < type_count; ++type) {
      Hypothesis failed = h;
      failed.facts.add({.kind = Fact::Kind::failure, .a = type, .b = -1});
      act(failed, decided(failed, type), type, now, out);
      act(std::move(failed), Rule{}, type, now, out);
    }
    if (h.asked_in_vain || (effect >= 0 && stops_by_doubt(h, effect))) {
      end_with(std::move(h), Status::escalated, bit(Errc::in_doubt), 0, true, out);
    }
  });
}

// Its answer may have been lost after the commit.
void RunModel::label_refused(int label) {
  each("a checkpoint is refused", [&](Hypothesis& h, List& out) {
    if (!shaken_) return;
    out.push_back(h);
    Hypothesis unnamed = h;  // The position remains a checkpoint, without the label.
    unnamed.facts.add({.kind = Fact::Kind::label, .a = -1});
    out.push_back(std::move(unnamed));
    h.facts.add({.kind = Fact::Kind::label, .a = label});
    out.push_back(std::move(h));
  });
}

void RunModel::wait_broken(int signal, bool in_time) {
  List more;
  for (const Hypothesis& h : hypotheses_) {
    if (h.facts.answers[static_cast<std::size_t>(signal)] != -2) continue;
    if (sent(signal) < 0 && in_time) continue;
    Hypothesis answered = h;
    answered.facts.add({.kind = Fact::Kind::signal, .a = signal, .b = sent(signal)});
    more.push_back(std::move(answered));
  }
  for (Hypothesis& h : more) hypotheses_.push_back(std::move(h));
}

void RunModel::waited(int signal, int value, bool in_time) {
  each("signal " + std::to_string(signal) + " gives " + std::to_string(value),
       [&](Hypothesis& h, List& out) {
         const int known = h.facts.answers[static_cast<std::size_t>(signal)];
         if (known != -2 && known != value) return;
         // A new answer is the sent value, or a passed deadline.
         if (known == -2 && value != sent(signal)) return;
         if (known == -2 && value < 0 && in_time) return;
         if (known == -2) h.facts.add({.kind = Fact::Kind::signal, .a = signal, .b = value});
         if (known == -2 && !shaken_) acknowledge(h);
         out.push_back(std::move(h));
       });
}

void RunModel::returned(Codes code, int value, const std::string& detail) {
  const std::string seen = "the call returns " + text_of(code) +
                           (code == success ? " " + std::to_string(value) : " (" + detail + ")");
  undo_refused(hypotheses_);
  if (shaken_) learn_late(hypotheses_);
  each(seen, [&](Hypothesis& h, List& out) {
    const bool fits = h.phase == Phase::to_return && (h.codes & code) != 0 &&
                      (code != success || h.value == value);
    // A failing store may end the call anywhere, with the facts that were durable by then.
    const bool store_error = shaken_ && (code & store_errors) != 0;
    // A run that could not be looked up counted as new, and starting it was refused.
    const bool taken_for_new = shaken_ && code == bit(Errc::conflict) &&
                               h.phase == Phase::to_return && h.facts.status != Status::absent;
    if (h.stored && code != success) {
      out.push_back(*h.stored);
      return;
    }
    if (h.stored) return;
    if (!fits && !store_error && !taken_for_new) return;
    note_drained(h);
    h.phase = Phase::idle;
    if (fits && !shaken_) {
      acknowledge(h);
      out.push_back(std::move(h));
      return;
    }
    if (code == success) {  // Acknowledged: it is stored as finished.
      acknowledge(h);
      out.push_back(std::move(h));
      return;
    }
    push_what_is_left(h, out);
  });
}

void RunModel::push_what_is_left(const Hypothesis& h, List& out) {
  for (int cut = h.facts.size(); cut >= h.durable; --cut) {
    Hypothesis shorter = h;
    shorter.facts.cut(cut);
    shorter.durable = cut;
    out.push_back(shorter);
    // Whether an unhandled failure counts is not specified.
    if (shorter.facts.forget_unanswered()) out.push_back(std::move(shorter));
  }
}

void RunModel::merge() {
  std::map<std::tuple<std::uint64_t, Phase, Codes, int, bool>, std::size_t> known;
  List kept;
  for (Hypothesis& h : hypotheses_) {
    const bool undoing = h.phase == Phase::undoing || h.phase == Phase::in_attempt || h.stored;
    const auto [same, is_new] =
        known.insert({{h.facts.fingerprint(), h.phase, h.codes, h.value, undoing}, kept.size()});
    if (is_new || undoing) {
      kept.push_back(std::move(h));
    } else {
      Hypothesis& other = kept[same->second];
      other.durable = std::min(other.durable, h.durable);
      other.if_shaken = other.if_shaken && h.if_shaken;
    }
  }
  hypotheses_ = std::move(kept);
  if (hypotheses_.size() > 2000) findings_->undecided = true;
}

void RunModel::or_else(const RunModel& other) {
  hypotheses_.insert(hypotheses_.end(), other.hypotheses_.begin(), other.hypotheses_.end());
  merge();
}

// After the process has died or reported its end.
void RunModel::learn_late(List& hypotheses) const {
  List more;
  for (Hypothesis& h : hypotheses) {
    Hypothesis learnt = h;
    for (const Fact& fact : std::exchange(h.late, {})) {
      const auto status = h.facts.effects[static_cast<std::size_t>(fact.a)].status;
      const bool compensation =
          fact.kind == Fact::Kind::undone || fact.kind == Fact::Kind::undo_given_up;
      if (status != (compensation ? Effect::Status::undo_doubt : Effect::Status::doubt)) continue;
      learnt.facts.add(fact);
    }
    learnt.late.clear();
    if (learnt.facts.size() > h.facts.size()) more.push_back(std::move(learnt));
  }
  for (Hypothesis& h : more) hypotheses.push_back(std::move(h));
}

void RunModel::owner_gone() {
  learn_late(hypotheses_);
  each("the owner is gone", [&](Hypothesis& h, List& out) {
    if (h.stored) {
      out.push_back(*h.stored);
      return;
    }
    h.phase = Phase::idle;
    push_what_is_left(h, out);
  });
}

void RunModel::listed(const std::vector<std::pair<int, int>>& checkpoints,
                      const std::string& status) {
  std::string seen = "the store says " + status + ", with checkpoints of";
  for (const auto& [steps, label] : checkpoints) {
    seen += " " + std::to_string(steps) + (label < 0 ? "" : "=L" + std::to_string(label));
  }
  each(seen + " steps", [&](Hypothesis& h, List& out) {
    const bool ran = h.facts.status == Status::running;
    if (status_names[static_cast<std::size_t>(h.facts.status)] != status &&
        !(ran && ever_shaken_ && status == "failed")) {
      return;
    }
    const std::vector<Position> known = h.facts.with_open();
    const bool open = known.size() > h.facts.positions.size();
    // Whether branch points and open positions are listed is not specified.
    for (h.not_listed = 0; h.not_listed <= (h.facts.is_branch ? 1 : 0); ++h.not_listed) {
      const std::size_t skipped = static_cast<std::size_t>(h.not_listed);
      const std::size_t left_out = known.size() - skipped - checkpoints.size();
      if (left_out != 0 && !(open && left_out == 1)) continue;
      if (!are_listed(known, skipped, checkpoints)) continue;
      out.push_back(std::move(h));
      return;
    }
  });
}

}  // namespace triage::campaign
