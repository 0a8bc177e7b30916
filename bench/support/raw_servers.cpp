// SPDX-License-Identifier: MIT
#include "support/raw_servers.hpp"

#include <hiredis/hiredis.h>
#include <libpq-fe.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace triage::bench {
namespace {

void must(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "bench: %s\n", what);
  std::abort();
}

std::string body_of(const Record& record) {
  std::string body;
  record.encode_body(body);
  return body;
}

}  // namespace

RawRedis::RawRedis(int port) : context_(redisConnect("127.0.0.1", port)) {
  must(context_ != nullptr && context_->err == 0, "no connection to Redis");
}
RawRedis::~RawRedis() { redisFree(context_); }

void RawRedis::add(const std::string& stream, std::span<const Record> records) {
  for (const Record& record : records) {
    const std::string id = std::to_string(record.seq()) + "-0";
    const std::string body = body_of(record);
    const std::string check = "1:4294967295";
    const std::array<const char*, 7> words{"XADD", stream.c_str(), id.c_str(), "b", body.data(),
                                           "c",    check.c_str()};
    const std::array<std::size_t, 7> sizes{4, stream.size(), id.size(), 1, body.size(), 1, 12};
    redisAppendCommandArgv(context_, 7, const_cast<const char**>(words.data()), sizes.data());
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    void* reply = nullptr;
    must(redisGetReply(context_, &reply) == REDIS_OK, "Redis does not answer");
    must(static_cast<redisReply*>(reply)->type == REDIS_REPLY_STRING, "Redis refuses an XADD");
    freeReplyObject(reply);
  }
}

void RawRedis::forget(const std::string& stream) {
  freeReplyObject(redisCommand(context_, "DEL %s", stream.c_str()));
}

double RawRedis::server_seconds() {
  auto* const reply = static_cast<redisReply*>(redisCommand(context_, "INFO cpu"));
  must(reply != nullptr && reply->str != nullptr, "Redis does not say what it has used");
  const std::string text(reply->str, reply->len);
  freeReplyObject(reply);
  double seconds = 0;
  for (const char* const name : {"used_cpu_user:", "used_cpu_sys:"}) {
    const std::size_t at = text.find(name);
    must(at != std::string::npos, "Redis does not say what it has used");
    seconds += std::strtod(text.c_str() + at + std::string(name).size(), nullptr);
  }
  return seconds;
}

RawPostgres::RawPostgres(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  must(PQstatus(connection_) == CONNECTION_OK, "no connection to PostgreSQL");
  run("CREATE TABLE raw (birth bigint NOT NULL, seq bigint NOT NULL, epoch bigint NOT NULL, kind "
      "integer NOT NULL, time_ms bigint NOT NULL, crc bigint NOT NULL, body bytea NOT NULL, "
      "PRIMARY KEY (birth, seq))");
}
RawPostgres::~RawPostgres() { PQfinish(connection_); }

void RawPostgres::run(const char* statement) {
  PGresult* const result = PQexec(connection_, statement);
  const auto status = PQresultStatus(result);
  must(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, PQerrorMessage(connection_));
  PQclear(result);
}

void RawPostgres::clear() { run("TRUNCATE raw"); }

void RawPostgres::insert(std::span<const Record> records) {
  std::string statement = "INSERT INTO raw VALUES ";
  std::vector<std::string> texts;
  std::vector<const char*> values;
  std::vector<int> sizes, formats;
  texts.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    texts.push_back(body_of(records[i]));
    statement += (i == 0 ? "(1," : ",(1,") + std::to_string(records[i].seq()) + ",1,3,1,1,$" +
                 std::to_string(i + 1) + "::bytea)";
    values.push_back(texts.back().data());
    sizes.push_back(static_cast<int>(texts.back().size()));
    formats.push_back(1);
  }
  PGresult* const result =
      PQexecParams(connection_, statement.c_str(), static_cast<int>(records.size()), nullptr,
                   values.data(), sizes.data(), formats.data(), 1);
  must(PQresultStatus(result) == PGRES_COMMAND_OK, PQerrorMessage(connection_));
  PQclear(result);
}

void RawPostgres::list_runs() {
  PGresult* const result = PQexecParams(
      connection_,
      "SELECT run_id, birth, epoch, owner, until_ms, agent, label, parent, status, started_ms, "
      "updated_ms, last FROM triage.runs ORDER BY started_ms DESC, run_id DESC",
      0, nullptr, nullptr, nullptr, nullptr, 1);
  must(PQresultStatus(result) == PGRES_TUPLES_OK, PQerrorMessage(connection_));
  std::size_t bytes = 0;
  for (int row = 0; row < PQntuples(result); ++row) {
    for (int column = 0; column < PQnfields(result); ++column) {
      bytes += std::string(PQgetvalue(result, row, column),
                           static_cast<std::size_t>(PQgetlength(result, row, column)))
                   .size();
    }
  }
  must(bytes > 0, "there are no runs");
  PQclear(result);
}

}  // namespace triage::bench
