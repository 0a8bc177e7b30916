// SPDX-License-Identifier: MIT
// Stands for libpq where the command calls it: those functions that triage::postgres needs.
#include "late/late_library.hpp"

#include <libpq-fe.h>

namespace {

constexpr triage::cli::LateLibrary pq{TRIAGE_PQ_FILE};

}  // namespace

PQconninfoOption* PQconninfoParse(const char* text, char** error) {
  return TRIAGE_CALL_LATE(pq, PQconninfoParse, text, error);
}
void PQconninfoFree(PQconninfoOption* options) { TRIAGE_CALL_LATE(pq, PQconninfoFree, options); }
PGconn* PQconnectStartParams(const char* const* names, const char* const* values, int expand) {
  return TRIAGE_CALL_LATE(pq, PQconnectStartParams, names, values, expand);
}
PostgresPollingStatusType PQconnectPoll(PGconn* connection) {
  return TRIAGE_CALL_LATE(pq, PQconnectPoll, connection);
}
void PQfinish(PGconn* connection) { TRIAGE_CALL_LATE(pq, PQfinish, connection); }
ConnStatusType PQstatus(const PGconn* connection) {
  return TRIAGE_CALL_LATE(pq, PQstatus, connection);
}
char* PQerrorMessage(const PGconn* connection) {
  return TRIAGE_CALL_LATE(pq, PQerrorMessage, connection);
}
char* PQhost(const PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQhost, connection); }
char* PQpass(const PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQpass, connection); }
int PQsocket(const PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQsocket, connection); }
int PQsetnonblocking(PGconn* connection, int on) {
  return TRIAGE_CALL_LATE(pq, PQsetnonblocking, connection, on);
}
PQnoticeProcessor PQsetNoticeProcessor(PGconn* connection, PQnoticeProcessor processor,
                                       void* argument) {
  return TRIAGE_CALL_LATE(pq, PQsetNoticeProcessor, connection, processor, argument);
}
int PQflush(PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQflush, connection); }
int PQconsumeInput(PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQconsumeInput, connection); }
int PQisBusy(PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQisBusy, connection); }
PGnotify* PQnotifies(PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQnotifies, connection); }
int PQsendQuery(PGconn* connection, const char* query) {
  return TRIAGE_CALL_LATE(pq, PQsendQuery, connection, query);
}
int PQsendQueryParams(PGconn* connection, const char* command, int number, const Oid* types,
                      const char* const* values, const int* lengths, const int* formats,
                      int result_format) {
  return TRIAGE_CALL_LATE(pq, PQsendQueryParams, connection, command, number, types, values,
                          lengths, formats, result_format);
}
int PQsetSingleRowMode(PGconn* connection) {
  return TRIAGE_CALL_LATE(pq, PQsetSingleRowMode, connection);
}
PGresult* PQexec(PGconn* connection, const char* query) {
  return TRIAGE_CALL_LATE(pq, PQexec, connection, query);
}
PGresult* PQgetResult(PGconn* connection) { return TRIAGE_CALL_LATE(pq, PQgetResult, connection); }
ExecStatusType PQresultStatus(const PGresult* result) {
  return TRIAGE_CALL_LATE(pq, PQresultStatus, result);
}
char* PQresultErrorField(const PGresult* result, int field) {
  return TRIAGE_CALL_LATE(pq, PQresultErrorField, result, field);
}
int PQntuples(const PGresult* result) { return TRIAGE_CALL_LATE(pq, PQntuples, result); }
int PQgetisnull(const PGresult* result, int row, int column) {
  return TRIAGE_CALL_LATE(pq, PQgetisnull, result, row, column);
}
char* PQgetvalue(const PGresult* result, int row, int column) {
  return TRIAGE_CALL_LATE(pq, PQgetvalue, result, row, column);
}
int PQgetlength(const PGresult* result, int row, int column) {
  return TRIAGE_CALL_LATE(pq, PQgetlength, result, row, column);
}
void PQclear(PGresult* result) { TRIAGE_CALL_LATE(pq, PQclear, result); }
char* PQescapeIdentifier(PGconn* connection, const char* text, size_t length) {
  return TRIAGE_CALL_LATE(pq, PQescapeIdentifier, connection, text, length);
}
void PQfreemem(void* memory) { TRIAGE_CALL_LATE(pq, PQfreemem, memory); }
