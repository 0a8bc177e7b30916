// SPDX-License-Identifier: MIT
#include "program.hpp"

#include <initializer_list>
#include <sstream>

namespace triage::campaign {
namespace {

template <class Kind>
const char* name(Kind kind, std::initializer_list<const char*> names) {
  return names.begin()[static_cast<std::size_t>(kind)];
}

std::string text_of(const Rule& rule) {
  std::ostringstream out;
  out << name(rule.kind, {"retry", "replan", "rollback", "resume", "escalate", "suspend", "abort",
                          "fallback", "sequence"});
  switch (rule.kind) {
    case Rule::Kind::retry:
      out << "(max_attempts " << rule.most << ", delay " << rule.delay << " s)";
      break;
    case Rule::Kind::replan: out << "(max_replans " << rule.most << ")"; break;
    case Rule::Kind::rollback:
      out << "(" << name(rule.target, {"last good", "latest", "label", "back"});
      if (rule.target == Rule::Target::label) out << " L" << rule.n;
      if (rule.target == Rule::Target::back) out << " " << rule.n;
      out << (rule.or_start ? ", or start)" : ")");
      break;
    case Rule::Kind::suspend:
      if (rule.until > 0) out << "(until " << rule.until << " s)";
      break;
    case Rule::Kind::sequence:
      for (const Rule& member : rule.members) out << " " << text_of(member);
      break;
    default: break;
  }
  return out.str();
}

std::string text_of(const Item& item) {
  std::ostringstream out;
  out << name(item.kind, {"step", "change key", "forget key", "checkpoint L", "effect e",
                          "sleep until ", "wait for signal "});
  if (item.kind == Item::Kind::nap) {
    out << item.seconds << " s";
  } else if (item.kind != Item::Kind::step) {
    out << item.n;
  }
  if (item.kind == Item::Kind::wait) out << " until " << item.seconds << " s";
  if (!item.kept) out << "   (not noted in the state)";
  return out.str();
}

std::string text_of(const Trouble& trouble) {
  std::ostringstream out;
  out << "visit " << trouble.visit << " of item " << trouble.item << ": "
      << name(trouble.kind,
              {"fails", "throws", "fails behind a step that carries the failure", "process dies",
               "is cancelled", "another process tries to take the run",
               "another process takes the run over", "time passes", "effect: not done, and says so",
               "effect: throws before it happened", "effect: throws after it happened",
               "effect: process dies before it happened", "effect: process dies after it happened",
               "store fails before an operation", "store fails after an operation",
               "store breaks down"});
  if (trouble.kind <= Trouble::Kind::fail_late) out << ", type " << trouble.n;
  if (trouble.kind == Trouble::Kind::slow) out << ", " << trouble.n << " s";
  if (is_store_trouble(trouble.kind)) out << ", number " << trouble.n << " from there";
  return out.str();
}

}  // namespace

std::string to_text(const Action& action) {
  std::ostringstream out;
  out << "P" << action.process << ": "
      << name(action.kind,
              {"run r", "run_or_resume r", "resume_run r", "decide r", "resume_due", "signal r",
               "fork r", "erase r", "process is killed", "store is mended"});
  using Kind = Action::Kind;
  if (action.kind < Kind::kill && action.kind != Kind::resume_due) out << action.run;
  if (action.kind == Kind::decide) out << ", choice " << action.n % 5;
  if (action.kind == Kind::decide && action.old_token) out << ", with an old token";
  if (action.kind == Kind::resume_due) out << " after " << action.seconds << " s";
  if (action.kind == Kind::signal)
    out << " s" << action.n % signal_count << " = " << action.seconds;
  if (action.kind == Kind::resume_run && action.n % 4 > 1) out << " from L" << action.n % 4 - 2;
  if (action.kind == Kind::resume_run && action.revive) out << ", revive";
  if (action.kind == Kind::fork) {
    out << " at checkpoint " << action.n << (action.seconds > 0 ? ", edited" : "");
  }
  return out.str();
}

std::string to_text(const Program& program) {
  std::ostringstream out;
  out << "program " << program.seed << (program.sqlite ? ", SQLite" : ", memory store")
      << (program.immediate ? ", immediate" : ", deferred")
      << (program.fails_with_store ? ", on_store_error fail" : "")
      << (program.auto_checkpoint ? "" : ", no auto_checkpoint") << ", max_attempts "
      << program.max_attempts << ", per type " << program.max_per_type
      << (program.per_run_limits ? " (per run)" : "") << ", max_wait " << program.max_wait << " s";
  if (program.deadline > 0) out << ", deadline at " << program.deadline << " s";
  out << "\n";
  for (std::size_t i = 0; i < program.rules.size(); ++i) {
    out << "  type " << i << ": " << text_of(program.rules[i]) << "\n";
  }
  for (std::size_t i = 0; i < program.plan.size(); ++i) {
    const Item& item = program.plan[i];
    out << "  item " << i << ": " << text_of(item);
    if (item.kind == Item::Kind::effect) {
      const EffectPlan& effect = program.effects[static_cast<std::size_t>(item.n)];
      out << " (" << name(effect.semantics, {"at_most_once", "at_least_once", "idempotent"})
          << name(effect.reconcile, {"", ", reconcile truthful", ", reconcile unknown"})
          << (effect.compensated ? ", compensate" : "")
          << (effect.compensated && effect.settled ? " with settle" : "") << ")";
    }
    out << "\n";
  }
  for (const Trouble& trouble : program.troubles) out << "  " << text_of(trouble) << "\n";
  for (const UndoTrouble& trouble : program.undo_troubles) {
    out << "  compensation call " << trouble.call << ": "
        << name(trouble.kind, {"not done, and says so", "throws before", "throws after",
                               "process dies before", "process dies after"})
        << "\n";
  }
  for (const Action& action : program.actions) out << "  " << to_text(action) << "\n";
  return out.str();
}

}  // namespace triage::campaign
