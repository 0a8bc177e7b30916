// SPDX-License-Identifier: MIT
#include "render/recovery_lines.hpp"

#include "render/output.hpp"
#include "render/telling_line.hpp"
#include "triage/json.hpp"
#include "triage/policy.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

namespace triage::inline v0_1::cli {
namespace {

constexpr std::size_t longest_quote = 160;

void tell_json(const Json& line) { std::fprintf(stderr, "%s\n", show(line).c_str()); }

double seconds(Duration length) { return std::chrono::duration<double>(length).count(); }

Json evidence_json(const Classification& found) {
  Json all = Json::array();
  for (const Evidence& one : found.evidence) {
    all.push_back({{"source", one.source}, {"detail", one.detail}});
  }
  return all;
}

void tell_recovery(const Event& event, Telling how) {
  const FailureContext& failure = *event.failure;
  const Classification& found = failure.classification;
  if (how == Telling::json) {
    tell_json({{"event", "recovery"},
               {"run", event.run_id()},
               {"attempt", failure.attempt_number},
               {"type", to_string(found.type)},
               {"reason", found.reason},
               {"confidence", found.confidence},
               {"evidence", evidence_json(found)},
               {"text", shorten(failure.text, 2'000)},
               {"action", to_string(event.action->kind)},
               {"delay_s", seconds(event.action->delay)},
               {"message", event.action->message},
               {"hint", event.action->hint}});
    return;
  }
  std::string text = failure.refused
                         ? std::string("no attempt was made: ")
                         : "attempt " + std::to_string(failure.attempt_number) + " failed: ";
  text += to_string(found.type);
  if (!found.reason.empty()) text += " (" + found.reason + ")";
  const std::string words = shorten(telling_line(failure.text), longest_quote);
  if (!words.empty()) text += ", \"" + words + "\"";
  if (event.action->kind != RecoveryAction::Kind::escalate) {
    text += "; " + shorten(describe(*event.action), longest_quote);
  }
  warn(text);
}

}  // namespace

std::shared_ptr<Observer> recovery_lines(Telling how) {
  if (how == Telling::nothing) return nullptr;
  return observe([how](const Event& event) {
    if (event.kind == EventKind::recovery_chosen && event.failure != nullptr) {
      tell_recovery(event, how);
    } else if (event.kind == EventKind::run_resumed && how == Telling::json) {
      tell_json({{"event", "resumed"}, {"run", event.run_id()}, {"checkpoint", event.text}});
    } else if (event.kind == EventKind::run_resumed) {
      warn("run " + event.run_id() + " goes on");
    } else if (event.kind == EventKind::store_detached && event.error != nullptr) {
      warn(
          "the store failed; the running program goes on; no other starts until the store can be "
          "written: " +
          event.error->detail);
    }
  });
}

}  // namespace triage::inline v0_1::cli
