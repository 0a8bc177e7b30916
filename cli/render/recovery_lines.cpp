// SPDX-License-Identifier: MIT
#include "render/recovery_lines.hpp"

#include "render/output.hpp"
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

// The last line of the program's output, where most programs say why they fail; after a death or a
// timeout, how it ended, which is the failure's last line.
std::string last_words(const FailureContext& failure) {
  std::string_view rest = failure.text;
  const bool known =
      failure.type() == FailureType::crashed || failure.type() == FailureType::timeout;
  for (int line = known ? 1 : 0; line < 2 && !rest.empty(); ++line) {
    const std::size_t end = rest.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {};
    rest = rest.substr(0, end + 1);
    const std::size_t start = rest.rfind('\n') + 1;
    if (line == 1 || start == 0) return shorten(rest.substr(start), longest_quote);
    rest = rest.substr(0, start);
  }
  return {};
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
  const std::string words = last_words(failure);
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
      warn("the store failed, the run goes on from memory: " + event.error->detail);
    }
  });
}

}  // namespace triage::inline v0_1::cli
