// SPDX-License-Identifier: MIT
#pragma once
// What lives as long as an attempt's program does, wired together: its streams, what they mean, and
// its protocol.

#include "supervise/adapters/adapted_attempt.hpp"
#include "supervise/attempt/attempt_io.hpp"
#include "supervise/protocol/protocol.hpp"
#include "supervise/workspace/attempt_files.hpp"

#include <functional>
#include <optional>

namespace triage::inline v0_1::supervise {

struct SupervisorOptions;

class LiveAttempt {
 public:
  // All that is given outlives this object. files: kept with each step and checkpoint.
  LiveAttempt(const SupervisorOptions& options, const RunSpec& spec, const Adapter& adapter,
              Attempt& attempt, AttemptFiles& files, std::shared_ptr<KnownSession> session);

  [[nodiscard]] AdaptedAttempt& adapted() noexcept { return adapted_; }
  [[nodiscard]] const AdaptedAttempt& adapted() const noexcept { return adapted_; }
  [[nodiscard]] AttemptIo& io() noexcept { return io_; }
  [[nodiscard]] Protocol& protocol() noexcept { return protocol_; }
  [[nodiscard]] const Protocol& protocol() const noexcept { return protocol_; }

 private:
  void note_step(Step& step);

  const SupervisorOptions& options_;
  AttemptFiles& files_;
  const std::function<void(std::optional<Duration>)> dismiss_;
  AdaptedAttempt adapted_;
  AttemptIo io_;
  Protocol protocol_;
};

}  // namespace triage::inline v0_1::supervise
