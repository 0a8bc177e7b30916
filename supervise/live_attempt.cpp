// SPDX-License-Identifier: MIT
#include "supervise/live_attempt.hpp"

#include "supervise/supervisor.hpp"

namespace triage::inline v0_1::supervise {

LiveAttempt::LiveAttempt(const SupervisorOptions& options, const RunSpec& spec,
                         const Adapter& adapter, Attempt& attempt, AttemptFiles& files,
                         std::shared_ptr<KnownSession> session)
    : options_(options),
      files_(files),
      dismiss_([this](std::optional<Duration> linger) { io_.dismiss_after(linger); }),
      adapted_(spec, adapter, attempt,
               {.store = options.store.get(),
                .clock = options.clock,
                .on_step = [this](Step& step) { note_step(step); },
                .on_trouble = options.on_trouble,
                .known = std::move(session)}),
      io_(spec, {.signals = options.signals,
                 .clock = options.clock,
                 .on_out = [this](std::string_view bytes) { adapted_.add(bytes, dismiss_); },
                 .on_trouble = options.on_trouble,
                 .has_effects = [this] { return protocol_.has_effects(); }}),
      protocol_(
          io_.loop(), attempt,
          {.on_activity = [this] { io_.note_activity(); },
           .on_trouble = options.on_trouble,
           .on_step = [this](Step& step) { note_step(step); },
           .on_label = [this](const std::string& label) { files_.begin_checkpoint(label); },
           .on_checkpoint = [this](const CheckpointId& made) { files_.note_checkpoint(made); },
           .on_status = options.on_status,
           .on_wait = [this](bool waits) { io_.hold_idle(waits); },
           .on_stop = [this] { io_.dismiss(); },
           .clock = options.clock,
           .store_option = options.store_option,
           .max_wait = spec.max_wait}) {}

void LiveAttempt::note_step(Step& step) {
  files_.note_step(step);
  if (options_.redactor && step.error) step.error = options_.redactor->text(*step.error);
}

}  // namespace triage::inline v0_1::supervise
