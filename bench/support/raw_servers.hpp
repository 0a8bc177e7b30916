// SPDX-License-Identifier: MIT
#pragma once
// The baseline of the stores with servers: the servers' own drivers and nothing else.

#include "support/postgres_server.hpp"
#include "support/redis_server.hpp"
#include "triage/record.hpp"

#include <memory>
#include <span>
#include <string>

struct redisContext;
struct pg_conn;

namespace triage::bench {

class RawRedis {
 public:
  explicit RawRedis(int port);
  ~RawRedis();
  RawRedis(const RawRedis&) = delete;
  RawRedis& operator=(const RawRedis&) = delete;
  // One XADD per record, in one pipeline.
  void add(const std::string& stream, std::span<const Record> records);
  void forget(const std::string& stream);
  // Processor time that the server has used.
  [[nodiscard]] double server_seconds();

 private:
  redisContext* context_;
};

class RawPostgres {
 public:
  explicit RawPostgres(const std::string& url);
  ~RawPostgres();
  RawPostgres(const RawPostgres&) = delete;
  RawPostgres& operator=(const RawPostgres&) = delete;
  void clear();
  // One INSERT of all records, in its own transaction.
  void insert(std::span<const Record> records);
  // Reads the columns of the store's runs, newest first.
  void list_runs();

 private:
  void run(const char* statement);
  pg_conn* connection_;
};

}  // namespace triage::bench
