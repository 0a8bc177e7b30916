// SPDX-License-Identifier: MIT
#include "support/postgres_server.hpp"

#include <libpq-fe.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

namespace triage::test {
namespace {

namespace fs = std::filesystem;

// The newest version's programs; empty: those in PATH.
fs::path programs() {
  std::error_code none;
  std::vector<fs::path> found;
  for (const auto& version : fs::directory_iterator("/usr/lib/postgresql", none)) {
    if (fs::exists(version.path() / "bin" / "initdb", none)) {
      found.push_back(version.path() / "bin");
    }
  }
  std::sort(found.begin(), found.end());
  return found.empty() ? fs::path() : found.back();
}

uid_t user_of_server() {
  if (::geteuid() != 0) return 0;
  for (const char* name : {"postgres", "nobody"}) {
    if (const passwd* user = ::getpwnam(name)) return user->pw_uid;
  }
  return 0;
}

}  // namespace

PostgresServer::PostgresServer(std::vector<std::string> settings)
    : port_(free_port()), user_(user_of_server()) {
  const fs::path data = folder_.path() / "data";
  fs::create_directory(data);
  if (user_ != 0) {
    fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_exec);
    if (::chown(data.c_str(), user_, user_) != 0) return;
  }
  ServerProcess make;
  make.start({programs() / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8",
              "--locale=C", "--no-sync"},
             "Success.", user_);
  if (!make.ready()) return;
  make.wait();
  std::ofstream(data / "pg_hba.conf") << "host all clerk 127.0.0.1/32 scram-sha-256\n"
                                         "host all all 127.0.0.1/32 trust\n";
  words_ = {programs() / "postgres",
            "-D",
            data,
            "-p",
            std::to_string(port_),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "unix_socket_directories=",
            "-c",
            "log_min_messages=log",
            "-c",
            "log_checkpoints=off"};
  for (const std::string& setting : settings) {
    words_.emplace_back("-c");
    words_.push_back(setting);
  }
  start();
}

void PostgresServer::start() { process_.start(words_, "ready to accept connections", user_); }

Result<std::string> PostgresServer::ask(const std::string& statements) const {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(url().c_str()), PQfinish);
  PQsetNoticeProcessor(
      connection.get(), [](void*, const char*) {}, nullptr);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(
      PQexec(connection.get(), statements.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK) return std::string();
  if (status == PGRES_TUPLES_OK && PQntuples(result.get()) > 0) {
    return std::string(PQgetvalue(result.get(), 0, 0));
  }
  return Error{Errc::io, PQerrorMessage(connection.get())};
}

}  // namespace triage::test
