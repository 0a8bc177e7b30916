// SPDX-License-Identifier: MIT
// Requests: asking, being answered, and continuing after they expire.
#include "driver.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/operations.hpp"

#include <algorithm>
#include <utility>

namespace triage::inline v0_1::workflow::detail {

// Answers are kept in the state, where branches find them too.
Result<void> Driver::load_answers() {
  if (before_.empty()) return outcome::success();
  const State::Values& values = *before_.values();
  const auto from = [&](std::string_view prefix) { return values.lower_bound(prefix); };
  for (auto one = from(answer_prefix);
       one != values.end() && one->first.rfind(answer_prefix, 0) == 0; ++one) {
    if (auto answer = answer_from(*one->second)) {
      const std::string id = one->first.substr(answer_prefix.size());
      if (const auto asked = requests_.find(id)) {
        answer->to = question_of(asked->type, asked->payload);
      }
      answers_.emplace(id, *std::move(answer));
    }
  }
  for (auto one = from(request_prefix);
       one != values.end() && one->first.rfind(request_prefix, 0) == 0; ++one) {
    Asked asked = asked_from(one->first.substr(request_prefix.size()), *one->second);
    if (answers_.contains(asked.id)) continue;
    TRIAGE_TRYV(settle_request(asked));
  }
  return outcome::success();
}

// Takes the answer or the expiry, whichever was sent. Both are the same signal, of which the store
// accepts the first: so no answer is acknowledged that the run then ignores.
Result<bool> Driver::settle_request(Asked& asked) {
  const std::string question = question_of(asked.type, asked.payload);
  const std::string signal = answer_signal(asked, timeline_);
  auto sent = attempt_.received(signal);
  if (!sent && is_expired(asked, *options_.clock) && options_.store) {
    auto expired = send_signal(*options_.store, attempt_.run_id(), signal,
                               Json{{"expired", true}, {"question", question}});
    if (!expired && expired.error().code != Errc::conflict) return std::move(expired).error();
    sent = attempt_.received(signal);
  }
  auto answer = sent ? answer_from(*sent) : std::nullopt;
  if (!answer) return outcome::success(false);
  // A rollback has forgotten that something else was asked before, whose signal this is.
  if (asked.anew.empty() && !answer->to.empty() && answer->to != question) {
    asked.anew = question;
    attempt_.update_state(Json{{std::string(request_prefix) + asked.id, asked_json(asked)}});
    requests_.add(asked);
    return settle_request(asked);
  }
  answer->to = question;
  answers_.insert_or_assign(asked.id, *answer);
  const Json settled = answer->expired ? Json{{"expired", true}} : Json{{"value", answer->value}};
  attempt_.update_state(Json{{std::string(answer_prefix) + asked.id, settled}});
  checkpoints_.tell({.kind = answer->expired ? WorkflowEventKind::request_expired
                                             : WorkflowEventKind::request_answered,
                     .executor = asked.executor,
                     .occurrence = delivery_asking(asked.id).second,
                     .request = asked.id,
                     .value = answer->value});
  const auto node = plan_.node_of.find(asked.executor);
  if (node == plan_.node_of.end()) return outcome::success(true);
  checkpoints_.recorded(node->second, 0, 0);
  if (!answer->expired) {
    checkpoints_.happened(CheckpointTrigger::response_accepted, node->second, 0);
  }
  return outcome::success(true);
}

// Nothing else can run, so deliveries whose request has expired continue, and those whose answer is
// there: it came while others ran, or the question is asked again since a rollback. True if there
// are any.
Result<bool> Driver::go_on_without_answers() {
  // All are settled before any begins: handlers read the answers without a lock.
  std::vector<bool> settled(parked_.size(), false);
  for (std::size_t i = 0; i < parked_.size(); ++i) {
    for (Asked& asked : parked_[i].asked) {
      TRIAGE_TRY(now, settle_request(asked));
      if (now) settled[i] = true;
    }
  }
  std::vector<Ended> waiting = std::exchange(parked_, {});
  bool some = false;
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    if (settled[i]) {
      some = true;
      scheduler_.again(waiting[i].delivery);
      begin(std::move(waiting[i].delivery));
    } else {
      parked_.push_back(std::move(waiting[i]));
    }
  }
  return outcome::success(some);
}

// False if all of it had been asked before.
bool Driver::store_asked(const Ended& ended) {
  Json patch = Json::object();
  for (const Asked& asked : ended.asked) {
    // It has failed before, or had been answered in the origin of a branch.
    const std::string finished = finished_key(asked.executor, ended.delivery.occurrence);
    const Json* before = before_.find(finished);
    if (before != nullptr && !before->is_null()) patch[finished] = nullptr;
    const auto known = requests_.find(asked.id);
    if (known && known->branch == asked.branch && known->anew == asked.anew) continue;
    patch[std::string(request_prefix) + asked.id] = asked_json(asked);
    const std::string answer = std::string(answer_prefix) + asked.id;
    if (answers_.contains(asked.id)) patch[answer] = nullptr;  // That was to another question.
  }
  if (patch.empty()) return false;
  attempt_.update_state(std::move(patch));
  for (const Asked& asked : ended.asked) requests_.add(asked);
  checkpoints_.recorded(ended.delivery.node, 0, 0);
  return true;
}

std::vector<Asked> Driver::asked() const {
  std::vector<Asked> all;
  for (const Ended& one : parked_) all.insert(all.end(), one.asked.begin(), one.asked.end());
  std::sort(all.begin(), all.end(), [](const Asked& a, const Asked& b) { return a.id < b.id; });
  return all;
}

Error Driver::waiting() {
  const std::string ids = triage::detail::joined(asked(), &Asked::id);
  return attempt_.fail({.text = "the workflow waits for answers to " + ids,
                        .type = FailureType::plan_incomplete,
                        .reason = std::string(pending_reason)});
}

}  // namespace triage::inline v0_1::workflow::detail
