// SPDX-License-Identifier: MIT
#include "classifier/undress/envelope_keys.hpp"

#include "classifier/undress/layers.hpp"
#include "classifier/undress/letters.hpp"
#include "search/word_set.hpp"

#include <array>
#include <iterator>

namespace triage::inline v0_1::detail {
namespace {

using namespace undressing;

struct KnownKey {
  std::string_view name;  // In lower case, without "_", "-", "@" and ".".
  Role role;
};

// What servers, SDKs and loggers call their messages.
constexpr KnownKey known_keys[] = {
    {"body", Role::message},
    {"cause", Role::message},
    {"causes", Role::message},
    {"content", Role::message},
    {"data", Role::message},
    {"desc", Role::message},
    {"description", Role::message},
    {"detail", Role::message},
    {"details", Role::message},
    {"developermessage", Role::message},
    {"diagnostics", Role::message},
    {"err", Role::message},
    {"error", Role::message},
    {"errordescription", Role::message},
    {"errordetail", Role::message},
    {"errordetails", Role::message},
    {"errormessage", Role::message},
    {"errormsg", Role::message},
    {"errors", Role::message},
    {"event", Role::message},
    {"exception", Role::message},
    {"exceptionmessage", Role::message},
    {"failure", Role::message},
    {"fault", Role::message},
    {"faultstring", Role::message},
    {"friendlymessage", Role::message},
    {"innererror", Role::message},
    {"jsonpayload", Role::message},
    {"lasterror", Role::message},
    {"log", Role::message},
    {"logmessage", Role::message},
    {"message", Role::message},
    {"messages", Role::message},
    {"msg", Role::message},
    {"output", Role::message},
    {"payload", Role::message},
    {"problem", Role::message},
    {"reason", Role::message},
    {"response", Role::message},
    {"result", Role::message},
    {"statusmessage", Role::message},
    {"statustext", Role::message},
    {"stderr", Role::message},
    {"text", Role::message},
    {"textpayload", Role::message},
    {"title", Role::message},
    {"usermessage", Role::message},
    {"class", Role::code},
    {"code", Role::code},
    {"errorcode", Role::code},
    {"errortype", Role::code},
    {"exceptiontype", Role::code},
    {"finishreason", Role::code},
    {"httpcode", Role::code},
    {"httpstatus", Role::code},
    {"httpstatuscode", Role::code},
    {"status", Role::code},
    {"statuscode", Role::code},
    {"stopreason", Role::code},
    {"subtype", Role::code},
    {"type", Role::code},
    {"retryafter", Role::wait},
    {"retryafterms", Role::wait_ms},
    {"retryafterseconds", Role::wait},
    {"retryin", Role::wait},
    {"retrydelay", Role::wait},
};

constexpr WordSet common_codes(std::to_array<std::string_view>({"error",
                                                                "errors",
                                                                "err",
                                                                "fail",
                                                                "failed",
                                                                "failure",
                                                                "exception",
                                                                "api_error",
                                                                "apierror",
                                                                "server_error",
                                                                "internal_error",
                                                                "internal",
                                                                "internal_server_error",
                                                                "unknown",
                                                                "unknown_error",
                                                                "unexpected_error",
                                                                "invalid_request_error",
                                                                "bad_request",
                                                                "badrequest",
                                                                "general_error",
                                                                "about:blank",
                                                                "none",
                                                                "null",
                                                                "text",
                                                                "object",
                                                                "string",
                                                                "message",
                                                                "log",
                                                                "runtime_error",
                                                                "tool_error",
                                                                "tool_result",
                                                                "function",
                                                                "default",
                                                                "request_error",
                                                                "agent_error",
                                                                "service_error",
                                                                "err_unknown",
                                                                "internalservererror",
                                                                "critical",
                                                                "fatal",
                                                                "warning",
                                                                "info",
                                                                "response",
                                                                "result",
                                                                "failed_request",
                                                                "application_error"}));

constexpr WordSet key_names([] {
  std::array<std::string_view, std::size(known_keys)> names{};
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = known_keys[i].name;
  return names;
}());

}  // namespace

Role role_of(std::string_view key) {
  std::array<char, 24> buffer{};
  std::size_t length = 0;
  for (const char c : key) {
    if (c == '_' || c == '-' || c == '@' || c == '.') continue;
    if (length == buffer.size()) return Role::other;
    buffer[length++] = c;
  }
  const std::size_t found = key_names.find({buffer.data(), length});
  return found == key_names.none ? Role::other : known_keys[found].role;
}

bool is_common_code(std::string_view code) {
  return common_codes.contains(code) || is_common_exception(code);
}

}  // namespace triage::inline v0_1::detail
