// SPDX-License-Identifier: MIT
// What is stored in the bodies of records and under tokens is read back as it was.
#include "journal/action_json.hpp"
#include "journal/failure_json.hpp"
#include "journal/suspension_fields.hpp"
#include "journal/ticket.hpp"
#include "support/catch.hpp"
#include "support/result.hpp"
#include "triage/guard.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

using namespace triage;
using namespace triage::detail;
using std::chrono::milliseconds;

namespace {

WallTime at_ms(int ms) { return WallTime(milliseconds(ms)); }

}  // namespace

TEST_CASE("a stored failure is read back as it was classified and reported", "[journal]") {
  FailureContext context{.classification = {.type = FailureType::external_fault,
                                            .reason = "quota",
                                            .confidence = 0.75,
                                            .critical_step = 3,
                                            .retry_after = Duration(5)},
                         .text = "HTTP 429",
                         .exception_type = "Busy",
                         .notes = {"a hook threw"},
                         .refused = true};
  context.classification.evidence.push_back({.source = "text",
                                             .suggests = FailureType::timeout,
                                             .detail = "says so",
                                             .confidence = 0.5,
                                             .step = 2,
                                             .facts = {{"phrase", "busy"}, {"phrase", "later"}}});
  context.classification.evidence.push_back({.source = "loop"});
  const Failure failure{.text = "HTTP 429",
                        .exception_type = "Busy",
                        .http_status = 429,
                        .json_rpc_code = -32000,
                        .grpc_status = 8,
                        .causes = {{.exception_type = "Inner", .text = "full"}}};
  const Json body = failure_fields(context, failure);

  FailureContext read;
  read_failure(body, read);
  CHECK(read.text == context.text);
  CHECK(read.exception_type == context.exception_type);
  CHECK(read.notes == context.notes);
  CHECK(read.refused);
  CHECK(read.classification.critical_step == context.classification.critical_step);
  CHECK(read.classification.retry_after == context.classification.retry_after);
  CHECK(read.classification.evidence.size() == 2);
  CHECK(read.classification.evidence[0].step == context.classification.evidence[0].step);
  CHECK(read.classification.evidence[0].facts == context.classification.evidence[0].facts);
  const Failure told = told_failure(body);
  CHECK(failure_fields(read, told) == body);  // The rest, too.
  CHECK(told.grpc_status == 8);
  CHECK(told.causes.size() == 1);
}

TEST_CASE("what a stored failure cannot hold counts as absent", "[journal]") {
  const Json body{{"critical_step", -1},
                  {"retry_after_ns", 1e300},
                  {"http_status", 4294967725},  // 2^32 + 429.
                  {"grpc_status", "8"},
                  {"evidence", {{{"step", -1}}}}};
  FailureContext context;
  read_failure(body, context);
  CHECK_FALSE(context.classification.critical_step);
  CHECK_FALSE(context.classification.retry_after);
  CHECK_FALSE(context.classification.evidence.at(0).step);
  const Failure told = told_failure(body);
  CHECK_FALSE(told.http_status);
  CHECK_FALSE(told.grpc_status);
}

TEST_CASE("a stored action is read back as it was", "[journal]") {
  RecoveryAction action{.kind = RecoveryAction::Kind::rollback,
                        .hint = "h",
                        .subgoal = "s",
                        .message = "m",
                        .delay = Duration(7)};
  action.target = {.kind = RollbackTarget::Kind::back, .name = "n", .back = 2, .or_start = true};
  action.until = at_ms(9);
  action.expires_after = Duration(11);
  action.allowed_actions = {"retry", "abort"};
  action.value = std::make_shared<const Json>(Json{{"k", 1}});
  const Json stored = action_json(action);
  CHECK(stored.size() == 10);  // Every field is set.
  CHECK(action_json(action_from(stored)) == stored);
}

TEST_CASE("what a run waits for is read back from its suspension", "[journal]") {
  Json body = Json::object();
  put_signals({"a", "b"}, body);
  // The first ends with the suspension, the others later.
  put_sleeps({{"x", at_ms(5), milliseconds(1)}, {"y", at_ms(7), milliseconds(2)}}, at_ms(5), body);
  body["until_ms"] = 5;
  const AwaitedRun inner{
      .agent = "g", .task = "t", .ticket = "h", .decision = {{"kind", "retry"}}, .by = "ops"};
  put_children({{"r1", AwaitedRun{.agent = "g"}}, {"r2", inner}}, true, body);

  CHECK(signals_of(body) == std::vector<std::string>{"a", "b"});
  const std::vector<Sleep> sleeps = sleeps_of(body);
  REQUIRE(sleeps.size() == 2);
  CHECK((sleeps[0].place == "x" && sleeps[0].until == at_ms(5)));
  CHECK((sleeps[1].place == "y" && sleeps[1].until == at_ms(7)));
  CHECK((sleeps[0].length == milliseconds(1) && sleeps[1].length == milliseconds(2)));
  const AwaitedRuns children = children_of(body);
  REQUIRE(children.size() == 2);
  CHECK(children[0].first == "r1");
  CHECK(children[1].first == "r2");
  CHECK(children[1].second.task == "t");
  CHECK(children[1].second.ticket == "h");
  CHECK(children[1].second.decision == inner.decision);
  CHECK(children[1].second.by == "ops");
  CHECK(awaited_child(body) == "r2");

  erase_waits(body);
  CHECK(signals_of(body).empty());
  CHECK(sleeps_of(body).empty());
}

TEST_CASE("a single signal is stored once, and a run without waits stores none", "[journal]") {
  Json body = Json::object();
  put_signals({}, body);
  put_sleeps({}, {}, body);
  put_children({}, false, body);
  CHECK(body.empty());
  CHECK(awaited_child(body).empty());
  put_signals({"a"}, body);
  CHECK(body == Json{{"signal", "a"}});
  CHECK(signals_of(body) == std::vector<std::string>{"a"});
}

TEST_CASE("a ticket is read back as it was", "[journal]") {
  const Ticket ticket{.run = "r",
                      .agent = "a",
                      .suspended_at = 12,
                      .allowed_actions = {"retry"},
                      .until = at_ms(3),
                      .expires = at_ms(4),
                      .state = "claimed",
                      .by = "ops"};
  const auto read = decode_ticket(encode(ticket));
  REQUIRE_OK(read);
  CHECK(read.value().run == "r");
  CHECK(read.value().until == ticket.until);
  CHECK(encode(read.value()) == encode(ticket));  // The rest, too.
  CHECK_ERRC(Errc::corrupt, decode_ticket("x"));
}
