// SPDX-License-Identifier: MIT
#pragma once
// What the executors of a Team send each other. Its type tells it from users' messages, which may
// be any JSON.

#include "triage/json.hpp"

namespace triage::inline v0_1::workflow::detail {

struct TeamMessage {
  static constexpr const char* message_type = "triage.team";
  Json json{};
  friend void to_json(Json& to, const TeamMessage& message) { to = message.json; }
  friend void from_json(const Json& from, TeamMessage& message) { message.json = from; }
};

}  // namespace triage::inline v0_1::workflow::detail
