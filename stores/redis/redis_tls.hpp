// SPDX-License-Identifier: MIT
#pragma once
// TLS for connections to a Redis server, if the build has it.

#include "redis_connection.hpp"

#include <chrono>
#include <string>

struct redisContext;

namespace triage::inline v0_1::detail {

[[nodiscard]] bool redis_has_tls() noexcept;
// Turns a new connection into a TLS one until `give_up`, and checks that the server's certificate
// is trusted and for this host. Says why that failed; empty: it did not.
[[nodiscard]] std::string start_redis_tls(redisContext& context, const RedisAddress& address,
                                          std::chrono::steady_clock::time_point give_up);
// What TLS itself last complained of in this thread, not the socket; empty: of nothing. Forgets it.
[[nodiscard]] std::string take_tls_complaint();

}  // namespace triage::inline v0_1::detail
