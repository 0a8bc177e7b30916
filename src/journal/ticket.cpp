// SPDX-License-Identifier: MIT
#include "journal/ticket.hpp"

#include "triage/detail/stored_field.hpp"
#include "triage/detail/try.hpp"

namespace triage::inline v0_1::detail {

std::string encode(const Ticket& ticket) {
  Json json{{"run", ticket.run},
            {"agent", ticket.agent},
            {"suspended_at", ticket.suspended_at},
            {"allowed_actions", ticket.allowed_actions},
            {"state", ticket.state}};
  if (ticket.until) json["until_ms"] = ticket.until->time_since_epoch().count();
  if (ticket.expires) json["expires_ms"] = ticket.expires->time_since_epoch().count();
  if (!ticket.by.empty()) json["by"] = ticket.by;
  std::string bytes;
  encode_cbor(json, bytes);
  return bytes;
}

Result<Ticket> decode_ticket(const std::string& bytes) {
  TRIAGE_TRY(json, decode_cbor(bytes));
  try {
    return Ticket{.run = json.at("run").get<std::string>(),
                  .agent = json.at("agent").get<std::string>(),
                  .suspended_at = json.at("suspended_at").get<Sequence>(),
                  .allowed_actions = json.at("allowed_actions").get<std::vector<std::string>>(),
                  .until = time_field(json, "until_ms"),
                  .expires = time_field(json, "expires_ms"),
                  .state = json.at("state").get<std::string>(),
                  .by = text_field(json, "by")};
  } catch (const Json::exception& e) {
    return Error{Errc::corrupt,
                 std::string("what is stored for this token is damaged: ") + e.what()};
  }
}

}  // namespace triage::inline v0_1::detail
