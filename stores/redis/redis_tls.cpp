// SPDX-License-Identifier: MIT
#include "redis_tls.hpp"

#ifdef TRIAGE_HAS_REDIS_TLS
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#endif

namespace triage::inline v0_1::detail {

#ifdef TRIAGE_HAS_REDIS_TLS
namespace {

struct FreeTls {
  void operator()(SSL_CTX* settings) const noexcept { SSL_CTX_free(settings); }
  void operator()(SSL* session) const noexcept { SSL_free(session); }
};
using TlsSettings = std::unique_ptr<SSL_CTX, FreeTls>;
using TlsSession = std::unique_ptr<SSL, FreeTls>;

std::string tls_text(unsigned long code) {
  if (code == 0) return {};
  if (ERR_GET_LIB(code) == ERR_LIB_SYS) {
    return std::generic_category().message(ERR_GET_REASON(code));
  }
  const char* const text = ERR_reason_error_string(code);
  return text == nullptr ? "error " + std::to_string(code) : text;
}

// The first error says more of a file, such as that it is not there.
std::string unusable(const char* option, const std::string& file) {
  const std::string why = tls_text(ERR_peek_error());
  ERR_clear_error();
  return std::string(option) + " \"" + file + "\" cannot be used: " + why;
}

// Otherwise OpenSSL asks at the terminal. `asked`: a bool.
int no_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

// What the options say; empty: done. Files are read anew for every connection, since certificates
// get renewed.
std::string set_up(SSL_CTX& settings, const RedisAddress& address) {
  SSL_CTX_set_min_proto_version(&settings, TLS1_2_VERSION);
  SSL_CTX_set_verify(&settings, SSL_VERIFY_PEER, nullptr);
  bool asked = false;
  SSL_CTX_set_default_passwd_cb(&settings, no_passphrase);
  SSL_CTX_set_default_passwd_cb_userdata(&settings, &asked);
  if (address.tls_ca.empty()) {
    if (SSL_CTX_set_default_verify_paths(&settings) != 1)
      return "the system trusts no certificates";
  } else if (SSL_CTX_load_verify_locations(&settings, address.tls_ca.c_str(), nullptr) != 1) {
    return unusable("tls_ca", address.tls_ca);
  }
  if (address.tls_certificate.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(&settings, address.tls_certificate.c_str()) != 1) {
    return unusable("tls_certificate", address.tls_certificate);
  }
  if (SSL_CTX_use_PrivateKey_file(&settings, address.tls_key.c_str(), SSL_FILETYPE_PEM) != 1) {
    std::string why = unusable("tls_key", address.tls_key);
    return asked ? "tls_key \"" + address.tls_key + "\" has a passphrase" : why;
  }
  return {};
}

bool expect_host(SSL& session, const std::string& host) {
  // An address is not sent as the server's name.
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(&session), host.c_str()) == 1) return true;
  ERR_clear_error();
  SSL_set_hostflags(&session, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  return SSL_set1_host(&session, host.c_str()) == 1 &&
         SSL_set_tlsext_host_name(&session, host.c_str()) == 1;
}

constexpr const char* no_tls_there = "; the server may not speak TLS";

// Why a handshake failed. `system`: errno after it.
std::string handshake_failure(const SSL& session, int system) {
  const long verdict = SSL_get_verify_result(&session);
  if (verdict != X509_V_OK) {
    ERR_clear_error();
    return std::string("the server's certificate is not accepted: ") +
           X509_verify_cert_error_string(verdict);
  }
  const unsigned long code = ERR_peek_last_error();
  const bool is_alert =
      ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET;
  std::string why = take_tls_complaint();
  if (why.empty()) {
    why = system == 0 ? "the connection was closed" : std::generic_category().message(system);
  }
  return "the TLS handshake failed: " + why + (is_alert ? "" : no_tls_there);
}

// False: the time is over.
bool await_socket(int file, short events, std::chrono::steady_clock::time_point give_up) {
  using std::chrono::milliseconds;
  const auto left =
      std::chrono::ceil<milliseconds>(give_up - std::chrono::steady_clock::now()).count();
  if (left <= 0) return false;
  pollfd socket{file, events, 0};
  const int ready = ::poll(&socket, 1, static_cast<int>(std::min<std::int64_t>(left, 600'000)));
  return ready > 0 || (ready < 0 && errno == EINTR);
}

std::string shake_hands(SSL& session, int file, std::chrono::steady_clock::time_point give_up) {
  while (true) {
    ERR_clear_error();
    errno = 0;
    const int shaken = SSL_do_handshake(&session);
    if (shaken == 1) return {};
    const int system = errno;
    const int wanted = SSL_get_error(&session, shaken);
    if (wanted != SSL_ERROR_WANT_READ && wanted != SSL_ERROR_WANT_WRITE) {
      return handshake_failure(session, system);
    }
    if (!await_socket(file, wanted == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, give_up)) {
      return std::string("there is no answer to the TLS handshake in time") + no_tls_there;
    }
  }
}

}  // namespace

bool redis_has_tls() noexcept { return true; }

std::string take_tls_complaint() {
  const unsigned long code = ERR_peek_last_error();
  std::string complaint = ERR_GET_LIB(code) == ERR_LIB_SYS ? std::string() : tls_text(code);
  ERR_clear_error();
  return complaint;
}

std::string start_redis_tls(redisContext& context, const RedisAddress& address,
                            std::chrono::steady_clock::time_point give_up) {
  ERR_clear_error();
  const TlsSettings settings(SSL_CTX_new(TLS_client_method()));
  if (!settings) return "TLS cannot be used: " + take_tls_complaint();
  if (std::string problem = set_up(*settings, address); !problem.empty()) return problem;
  TlsSession session(SSL_new(settings.get()));
  if (!session || !expect_host(*session, address.host)) {
    return "TLS cannot be used: " + take_tls_complaint();
  }
  // A blocking handshake would be given its time anew for every byte.
  const int blocking = ::fcntl(context.fd, F_GETFL);
  ::fcntl(context.fd, F_SETFL, blocking | O_NONBLOCK);
  context.flags &= ~REDIS_BLOCK;
  errno = 0;
  if (redisInitiateSSL(&context, session.get()) != REDIS_OK) {
    return handshake_failure(*session, errno);
  }
  SSL* const running = session.release();  // The connection's from now on.
  std::string problem = shake_hands(*running, context.fd, give_up);
  context.flags |= REDIS_BLOCK;
  ::fcntl(context.fd, F_SETFL, blocking);
  return problem;
}

#else

bool redis_has_tls() noexcept { return false; }
std::string take_tls_complaint() { return {}; }
std::string start_redis_tls(redisContext&, const RedisAddress&,
                            std::chrono::steady_clock::time_point) {
  return "this build has no TLS";
}

#endif

}  // namespace triage::inline v0_1::detail
