// SPDX-License-Identifier: MIT
#include "supervise/adapters/adapted_attempt.hpp"

#include "supervise/adapters/local_times.hpp"
#include "supervise/adapters/session_mark.hpp"
#include "supervise/attempt/verdict.hpp"
#include "triage/detail/own_checkpoint.hpp"
#include "triage/detail/try.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace triage::inline v0_1::supervise {
namespace {

std::string trimmed(std::string text) {
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && blank(text.back())) text.pop_back();
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), blank));
  return text;
}

}  // namespace

Hint parse_hint(const std::string& hint) {
  constexpr std::string_view asks = "model:";
  if (!hint.starts_with(asks)) return {.text = hint};
  const std::size_t end = std::min(hint.find('\n'), hint.size());
  return {.model = trimmed(hint.substr(asks.size(), end - asks.size())),
          .text = trimmed(hint.substr(end))};
}

AdaptedAttempt::AdaptedAttempt(const RunSpec& spec, const Adapter& adapter, Attempt& attempt,
                               Options options)
    : spec_(spec),
      adapter_(adapter),
      attempt_(attempt),
      options_(std::move(options)),
      line_(adapter, spec.command),
      reader_(adapter, {.on_session = [this](const std::string& session) { note_session(session); },
                        .on_step =
                            [this](Step step) {
                              if (options_.on_step) options_.on_step(step);
                              attempt_.record_step(std::move(step));
                            },
                        .on_usage = [this](const Usage& usage) { attempt_.record_usage(usage); }}) {
  reads_ = !adapter.events.empty() && line_.fits() &&
           (adapter.events_with.empty() || line_.has_any(adapter.events_with));
}

bool AdaptedAttempt::goes_on(const Recovery& recovery) const {
  if (!adapter_.resume || spec_.session == "fresh") return false;
  if (line_.has_any(adapter_.resume->unless)) return false;
  // Its conversation would not match the restored state.
  if (recovery.action == RecoveryAction::Kind::rollback) return false;
  if (spec_.session == "resume") return true;
  const auto& after = adapter_.resume->after;
  return recovery.reason != lost_session_reason &&
         std::find(after.begin(), after.end(), recovery.failure_type) != after.end();
}

Words AdaptedAttempt::anew(const Hint& hint) const {
  const CommandLine line(adapter_, line_.without(adapter_.again_without));
  const auto prompt = line.prompt();
  if (hint.text.empty() || adapter_.again.empty() || !prompt) return line.words();
  const std::string text = filled(filled(adapter_.again, "hint", hint.text), "prompt", *prompt);
  return line.with_prompt(text).value_or(line.words());
}

void AdaptedAttempt::know(const std::string& session) {
  if (options_.known) *options_.known = {attempt_.run_id(), attempt_.number(), session};
}

// Of the attempts before this one. To find it, all records are read.
Result<std::string> AdaptedAttempt::former_session() {
  if (!adapter_.resume || options_.store == nullptr) return std::string();
  const KnownSession* known = options_.known.get();
  const bool fresh = known != nullptr && known->run == attempt_.run_id() &&
                     known->attempt == attempt_.number() - 1;
  if (fresh) return known->name;
  return newest_session(*options_.store, attempt_.run_id(), adapter_.name);
}

Result<Words> AdaptedAttempt::command() {
  if (line_.fits() && !adapter_.events.empty() && !reads_ && attempt_.number() == 1) {
    trouble(adapter_.name + " tells of its work only with " + adapter_.events_with.front() +
            "; without it its session cannot be resumed");
  }
  const Recovery* recovery = attempt_.recovery();
  if (recovery == nullptr && attempt_.number() == 1) know("");
  if (recovery == nullptr || !line_.fits()) return outcome::success(spec_.command);
  const Hint hint = parse_hint(recovery->hint);
  TRIAGE_TRY(session, former_session());
  know(session);
  Words words = anew(hint);
  if (!session.empty()) {
    const auto line =
        goes_on(*recovery)
            ? line_.resumed(session, trimmed(filled(adapter_.resume->prompt, "hint", hint.text)))
            : std::nullopt;
    if (line) {
      words = *line;
      resumed_ = session;
    } else {
      // The attempt starts a new session.
      TRIAGE_TRYV(detail::own_checkpoint(attempt_, session_label(adapter_.name, "")));
      know("");
    }
  }
  if (!hint.model.empty()) {
    const CommandLine changed(adapter_, std::move(words));
    words = changed.with_options(adapter_.model_option, "model", hint.model);
  }
  return outcome::success(std::move(words));
}

void AdaptedAttempt::note_session(const std::string& session) {
  if (!is_session_name(session)) {
    return trouble("the session \"" + printable(session.substr(0, 40)) +
                   "\" cannot be resumed: it has no name that is safe on a command line");
  }
  if (session == resumed_) return;  // Already in the journal.
  if (const auto noted = detail::own_checkpoint(attempt_, session_label(adapter_.name, session));
      !noted) {
    return trouble("the session " + session + " could not be noted: " + noted.error().detail);
  }
  know(session);
}

void AdaptedAttempt::add(std::string_view bytes,
                         const std::function<void(std::optional<Duration>)>& on_end) {
  if (!reads_) return;
  reader_.add(bytes);
  if (line_.has_any(adapter_.stays_with)) return;
  const bool ended = reader_.end() != StreamEnd::none;
  if (ended) {
    on_end(reader_.busy() ? adapter_.linger_busy : adapter_.linger);
  } else if (lingers_) {
    on_end(std::nullopt);
  }
  lingers_ = ended;
}

Failure AdaptedAttempt::failure(const ChildEnd& end, const std::string& name) const {
  Failure failure = reported(end, name);
  if (!adapter_.events.empty()) {
    failure.text = with_zones(failure.text, options_.clock->wall_now());
  }
  // Some say it in an event, others on standard error, before their first one.
  if (adapter_.resume && !resumed_.empty()) {
    for (const std::string& lost : adapter_.resume->lost) {
      if (failure.text.find(lost) == std::string::npos) continue;
      failure.type = FailureType::unknown;
      failure.reason = lost_session_reason;
    }
  }
  return failure;
}

Failure AdaptedAttempt::reported(const ChildEnd& end, const std::string& name) const {
  if (reader_.events() == 0) return failure_of(end, name);
  ChildEnd own = end;
  own.out.clear();  // It has what tools printed in it.
  const auto& told = reader_.failure();
  Failure plain = failure_of(own, name);
  const bool by_time =
      end.cause == ChildEnd::Cause::timeout || end.cause == ChildEnd::Cause::idle_timeout;
  // A death by a signal is a fact, unless the program had already ended its stream.
  if (!told || (plain.type && reader_.end() != StreamEnd::failed && !by_time)) return plain;
  Failure failure = told->failure;
  if (failure.text.empty()) failure.text = plain.text;
  if (told->resets_at && !failure.retry_after) {
    const std::chrono::duration<double> now = options_.clock->wall_now().time_since_epoch();
    const double seconds = std::max(0.0, std::ceil(*told->resets_at - now.count()));
    if (seconds < 1e9) failure.retry_after = std::chrono::seconds(static_cast<long>(seconds));
  }
  return failure;
}

}  // namespace triage::inline v0_1::supervise
