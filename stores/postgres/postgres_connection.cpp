// SPDX-License-Identifier: MIT
#include "postgres_connection.hpp"

#include "base/run_catching.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace triage::inline v0_1::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using Point = steady_clock::time_point;

constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{200};
constexpr std::size_t most_sent = 1'000'000'000;  // A message of 1 GiB ends the connection.

// Oids of the built-in types, which never change.
constexpr std::uint32_t oid_of_bytea = 17;
constexpr std::uint32_t oid_of_bigint = 20;
constexpr std::uint32_t oid_of_text = 25;

template <class T>
void put(std::string& out, T value) {
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> shift));
  }
}

// The header of a one-dimensional array: see array_send() in PostgreSQL.
std::string array_head(std::uint32_t type, std::size_t size) {
  std::string out;
  put(out, std::int32_t{size == 0 ? 0 : 1});
  put(out, std::int32_t{0});  // No nulls.
  put(out, type);
  if (size == 0) return out;
  put(out, static_cast<std::int32_t>(size));
  put(out, std::int32_t{1});
  return out;
}

std::string array_of(std::uint32_t type, const std::vector<std::string>& values) {
  std::string out = array_head(type, values.size());
  for (const std::string& value : values) {
    put(out, static_cast<std::int32_t>(value.size()));
    out += value;
  }
  return out;
}

// A message of libpq in one line, without the password, whatever it quotes.
std::string safe_text(const PGconn* connection, const char* text) {
  std::string said = text == nullptr ? "" : text;
  const char* const password = connection == nullptr ? nullptr : PQpass(connection);
  const std::string secret = password == nullptr ? "" : password;
  for (std::size_t at = secret.empty() ? said.npos : said.find(secret); at != said.npos;
       at = said.find(secret, at + 3)) {
    said.replace(at, secret.size(), "***");
  }
  while (!said.empty() && said.back() == '\n') said.pop_back();
  for (std::size_t at = said.find_first_of("\n\t"); at != said.npos;
       at = said.find_first_of("\n\t", at)) {
    const std::size_t behind = std::min(said.find_first_not_of("\n\t ", at), said.size());
    said.replace(at, behind - at, " ");
  }
  return printable(said);
}

// Waits until the connection is readable (or writable). False after `give_up`.
bool wait_for(const PGconn* connection, short what, Point give_up) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(give_up - steady_clock::now()).count();
    if (left <= 0) return false;
    pollfd one{.fd = PQsocket(connection), .events = what, .revents = 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<long>(left + 1, 1'000'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Sends and receives everything, or says why not. After a failure the connection is unusable.
Result<void> flush(PGconn* connection, Point give_up) {
  while (true) {
    const int left = PQflush(connection);
    if (left == 0) return outcome::success();
    if (left < 0) return Error{Errc::io, safe_text(connection, PQerrorMessage(connection))};
    if (!wait_for(connection, POLLIN | POLLOUT, give_up)) break;
    if (PQconsumeInput(connection) == 0) {
      return Error{Errc::io, safe_text(connection, PQerrorMessage(connection))};
    }
  }
  return Error{Errc::io, "the PostgreSQL server takes nothing in time"};
}

Result<PGresult*> receive(PGconn* connection, Point give_up, milliseconds timeout,
                          const PgReader* reader) {
  PGresult* last = nullptr;
  while (true) {
    while (PQisBusy(connection) != 0) {
      const bool ready = wait_for(connection, POLLIN, give_up);
      if (ready && PQconsumeInput(connection) != 0) continue;
      PQclear(last);
      if (!ready) return Error{Errc::io, "the PostgreSQL server gives no answer in time"};
      return Error{Errc::io, safe_text(connection, PQerrorMessage(connection))};
    }
    PGresult* const next = PQgetResult(connection);
    if (next == nullptr) return outcome::success(last);
    if (reader != nullptr && PQresultStatus(next) == PGRES_SINGLE_TUPLE) {
      reader->take(PgRows(next));
      give_up = steady_clock::now() + timeout;
      continue;
    }
    const bool failed = last != nullptr && PQresultStatus(last) == PGRES_FATAL_ERROR;
    PQclear(failed ? next : last);  // The first failure is the one to report.
    if (!failed) last = next;
  }
}

// Translates what the server refused, if we know its code.
Error refused(const PGconn* connection, const PGresult* result, const std::string& state) {
  const char* const message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string text = "the PostgreSQL server says: " +
                           safe_text(connection, message == nullptr ? "nothing" : message);
  if (state == "42501") return {Errc::unsupported, text};               // No such privilege.
  if (state == "25006") return {Errc::unsupported, text};               // Read-only.
  if (state == "57014" || state == "55P03") return {Errc::busy, text};  // Cancelled, locked.
  if (state == "53300") return {Errc::busy, text};                      // Too many clients.
  return {Errc::io, text};
}

// Whether the same server may answer a retry a little later.
bool worth_waiting(std::string_view state) {
  return state.empty() || state.starts_with("08") || state.starts_with("57P0") ||
         state == "40001" || state == "40P01";
}

// Sends one question, with or without parameters, and waits for its answer.
Result<PgRows> ask_once(PGconn* connection, const std::string& statement,
                        const PgParameters* parameters, const PgReader* reader, Point give_up,
                        milliseconds timeout, std::string& state) {
  int sent = 0;
  if (parameters == nullptr) {
    sent = PQsendQuery(connection, statement.c_str());
  } else {
    std::vector<const char*> values;
    std::vector<int> sizes;
    for (const auto& value : parameters->values()) {
      values.push_back(value ? value->data() : nullptr);
      sizes.push_back(value ? static_cast<int>(value->size()) : 0);
    }
    const std::vector<int> binary(values.size(), 1);
    sent = PQsendQueryParams(connection, statement.c_str(), static_cast<int>(values.size()),
                             nullptr, values.data(), sizes.data(), binary.data(), 1);
  }
  if (sent == 0) return Error{Errc::io, safe_text(connection, PQerrorMessage(connection))};
  if (reader != nullptr) {
    reader->begin();
    // Otherwise all rows would come with the last result, which has none of a stream.
    if (PQsetSingleRowMode(connection) != 1) {
      return Error{Errc::io, "libpq does not return these rows one by one"};
    }
  }
  TRIAGE_TRYV(flush(connection, give_up));
  TRIAGE_TRY(result, receive(connection, give_up, timeout, reader));
  if (result == nullptr) return Error{Errc::io, "the PostgreSQL server gave no answer"};
  PgRows rows(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) {
    return outcome::success(std::move(rows));
  }
  const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  if (code != nullptr) state = code;
  return refused(connection, result, state);
}

// Why this is no connection.
std::string why_not(const PGconn* connection) {
  if (connection == nullptr) return "there is no connection to the PostgreSQL server";
  if (PQstatus(connection) == CONNECTION_BAD) {
    return safe_text(connection, PQerrorMessage(connection));
  }
  return "the PostgreSQL server at " + printable(PQhost(connection)) + " gives no answer in time";
}

}  // namespace

PgParameters& PgParameters::number(std::int64_t value) {
  std::string out;
  put(out, value);
  return bytes(std::move(out));
}
PgParameters& PgParameters::bytes(std::string value) {
  values_.emplace_back(std::move(value));
  return *this;
}
PgParameters& PgParameters::null() {
  values_.emplace_back();
  return *this;
}
PgParameters& PgParameters::numbers(const std::vector<std::int64_t>& values) {
  std::string out = array_head(oid_of_bigint, values.size());
  for (const std::int64_t value : values) {
    put(out, std::int32_t{8});
    put(out, value);
  }
  return bytes(std::move(out));
}
PgParameters& PgParameters::texts(const std::vector<std::string>& values) {
  return bytes(array_of(oid_of_text, values));
}
PgParameters& PgParameters::byte_strings(const std::vector<std::string>& values) {
  return bytes(array_of(oid_of_bytea, values));
}

void PgRows::Clear::operator()(pg_result* result) const noexcept { PQclear(result); }
PgRows::PgRows(pg_result* result) : result_(result), size_(PQntuples(result)) {}
bool PgRows::is_null(int row, int column) const noexcept {
  return PQgetisnull(result_.get(), row, column) != 0;
}
std::string_view PgRows::text(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}
std::int64_t PgRows::number(int row, int column) const noexcept {
  const std::string_view bytes = text(row, column);
  if (bytes.empty()) return 0;
  std::uint64_t value = (bytes.front() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) value = value << 8U | static_cast<unsigned char>(byte);
  return static_cast<std::int64_t>(value);
}

void PgPool::Finish::operator()(pg_conn* connection) const noexcept { PQfinish(connection); }
PgPool::~PgPool() = default;

void PgPool::abandon() noexcept {
  for (Connection& connection : idle_) static_cast<void>(connection.release());
}

Result<PgPool::Connection> PgPool::take(Point give_up) {
  {
    std::unique_lock here(mutex_);
    const bool one =
        freed_.wait_until(here, give_up, [&] { return !idle_.empty() || in_use_ < most_; });
    if (!one) return Error{Errc::busy, "all connections to the PostgreSQL server are in use"};
    ++in_use_;
    if (!idle_.empty()) {
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      return outcome::success(std::move(connection));
    }
  }
  Connection connection(connect_());
  if (connection && PQstatus(connection.get()) == CONNECTION_OK) {
    PQsetNoticeProcessor(
        connection.get(), [](void*, const char*) {}, nullptr);
    PQsetnonblocking(connection.get(), 1);
    return outcome::success(std::move(connection));
  }
  give_back(nullptr);
  return Error{Errc::io, why_not(connection.get())};
}

void PgPool::give_back(Connection connection) {
  const std::scoped_lock here(mutex_);
  --in_use_;
  if (connection) {
    idle_.push_back(std::move(connection));
    was_there_ = true;
  } else {
    idle_.clear();  // What broke one has probably broken all.
  }
  freed_.notify_one();
}

Result<PgRows> PgPool::ask(const std::string& statement, const PgParameters* parameters,
                           const PgReader* reader, std::string* state) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; parameters != nullptr && i < parameters->values().size(); ++i) {
    const auto& value = parameters->values()[i];
    if (value) bytes += value->size();
  }
  if (bytes > most_sent) {
    return Error{Errc::invalid_argument, std::to_string(bytes) +
                                             " bytes in one statement; PostgreSQL takes " +
                                             std::to_string(most_sent)};
  }
  const Point give_up = steady_clock::now() + timeout_;
  milliseconds pause = first_pause;
  bool repeated = false;
  while (true) {
    std::string code;
    Error error;
    auto connection = take(give_up);
    if (connection) {
      auto rows = run_catching([&] {  // There may be no memory for a row.
        return ask_once(connection.value().get(), statement, parameters, reader, give_up, timeout_,
                        code);
      });
      // If the connection is in doubt, it is not reused.
      const bool good = rows || (!code.empty() && !code.starts_with("57P") &&
                                 PQstatus(connection.value().get()) == CONNECTION_OK);
      give_back(good ? std::move(connection).value() : nullptr);
      if (rows) {
        rows.value().repeated = repeated;
        return rows;
      }
      error = rows.error();
      repeated = true;
    } else {
      error = connection.error();
      // A running server that refuses us now will still refuse us a moment later.
      const bool refuses = error.detail.find("FATAL") != error.detail.npos &&
                           error.detail.find("starting up") == error.detail.npos &&
                           error.detail.find("shutting down") == error.detail.npos &&
                           error.detail.find("recovery") == error.detail.npos;
      if (refuses || error.code == Errc::busy) return error;
    }
    if (state != nullptr) *state = code;
    {
      const std::scoped_lock here(mutex_);
      if (!was_there_) return error;
    }
    if (!worth_waiting(code) || steady_clock::now() + pause >= give_up) return error;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
}

Result<PgRows> PgPool::ask(const std::string& statement, const PgParameters& parameters,
                           std::string* state) {
  return ask(statement, &parameters, nullptr, state);
}

Result<void> PgPool::stream(const std::string& statement, const PgParameters& parameters,
                            const PgReader& reader) {
  TRIAGE_TRY(rows, ask(statement, &parameters, &reader, nullptr));
  static_cast<void>(rows);
  return outcome::success();
}

Result<void> PgPool::ask_script(const std::string& statements, std::string* state) {
  TRIAGE_TRY(rows, ask(statements, nullptr, nullptr, state));
  static_cast<void>(rows);
  return outcome::success();
}

Result<PgAddress> parse_postgres_url(std::string url, milliseconds timeout) {
  const Error refused{Errc::invalid_argument,
                      "the PostgreSQL URL cannot be read; expected "
                      "postgresql://[USER[:PASSWORD]@][HOST][:PORT][/DATABASE]"
                      "[?PARAMETER=VALUE], with %XX for what is special"};
  if (!url.starts_with("postgresql://") && !url.starts_with("postgres://")) return refused;
  PgAddress address;
  // Our parameter among libpq's.
  constexpr std::string_view name = "schema=";
  // As for libpq: a user and password end at the first "@", unless a "/" comes before it.
  const std::size_t host = url.find("://") + 3;
  const std::size_t first = url.find_first_of("@/", host);
  const bool has_user = first != url.npos && url[first] == '@';
  const std::size_t query = url.find('?', has_user ? first : host);
  for (std::size_t at = query; at < url.size(); at = url.find('&', at + 1)) {
    if (url.compare(at + 1, name.size(), name) != 0) continue;
    const std::size_t end = std::min(url.find('&', at + 1), url.size());
    address.schema = url.substr(at + 1 + name.size(), end - at - 1 - name.size());
    url.erase(at + 1, end - at - (end < url.size() ? 0 : 1));
    break;
  }
  if (url.back() == '?' || url.back() == '&') url.pop_back();
  char* why = nullptr;
  PQconninfoOption* const parts = PQconninfoParse(url.c_str(), &why);
  PQfreemem(why);  // It may quote the URL.
  if (parts == nullptr) return refused;
  PQconninfoFree(parts);
  address.connect = [url, timeout]() -> pg_conn* {
    const Point give_up = steady_clock::now() + timeout;
    const char* const names[] = {"dbname", "fallback_application_name", nullptr};
    const char* const values[] = {url.c_str(), "triage", nullptr};
    PGconn* const connection = PQconnectStartParams(names, values, 1);
    if (connection == nullptr || PQstatus(connection) == CONNECTION_BAD) return connection;
    PostgresPollingStatusType next = PGRES_POLLING_WRITING;
    while (next != PGRES_POLLING_OK && next != PGRES_POLLING_FAILED) {
      const short what = next == PGRES_POLLING_WRITING ? POLLOUT : POLLIN;
      if (!wait_for(connection, what, give_up)) return connection;  // Neither good nor bad.
      next = PQconnectPoll(connection);
    }
    return connection;
  };
  return outcome::success(std::move(address));
}

}  // namespace triage::inline v0_1::detail
