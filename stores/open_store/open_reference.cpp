// SPDX-License-Identifier: MIT
#include "triage/stores/interchange_reference.hpp"
#ifdef TRIAGE_HAS_REDIS
#include "triage/stores/redis_reference.hpp"
#endif
#ifdef TRIAGE_HAS_SQLITE
#include "triage/stores/sqlite_reference.hpp"
#endif

namespace triage::inline v0_1 {

Result<std::unique_ptr<ReferenceStore>> open_reference(const std::string& url, bool to_write) {
  constexpr std::string_view scheme = "sqlite:";
  if (url.empty() || url == scheme) {
    return Error{Errc::invalid_argument,
                 "the store of triage-agent has no name; give redis://HOST, or the path of a file"};
  }
  const Error not_built_in{Errc::unsupported, "this build has no such stores of triage-agent"};
  if (url.starts_with("redis:") || url.starts_with("rediss:")) {
#ifdef TRIAGE_HAS_REDIS
    return open_redis_reference(url);
#else
    return not_built_in;
#endif
  }
#ifdef TRIAGE_HAS_SQLITE
  return open_sqlite_reference(url.starts_with(scheme) ? url.substr(scheme.size()) : url, to_write);
#else
  static_cast<void>(to_write);
  return not_built_in;
#endif
}

}  // namespace triage::inline v0_1
