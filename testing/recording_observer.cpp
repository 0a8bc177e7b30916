// SPDX-License-Identifier: MIT
#include "triage/testing/recording_observer.hpp"

#include "triage/step.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace triage::inline v0_1::testing {

void RecordingObserver::on_event(const Event& event) {
  RecordedEvent copy{.kind = event.kind,
                     .name = std::string(to_string(event.kind)),
                     .attempt = event.attempt,
                     .text = std::string(event.text),
                     .number = event.number};
  if (event.run != nullptr) copy.run_id = event.run_id();
  if (event.failure != nullptr) copy.failure_type = event.failure->type();
  if (event.action != nullptr) copy.action = event.action->kind;
  if (event.step != nullptr) copy.step_action = event.step->action;
  if (event.error != nullptr) {
    copy.error_code = event.error->code;
    copy.error_detail = event.error->detail;
  }
  const std::scoped_lock lock(mutex_);
  events_.push_back(std::move(copy));
}

std::vector<RecordedEvent> RecordingObserver::events() const {
  const std::scoped_lock lock(mutex_);
  return events_;
}

std::vector<RecordedEvent> RecordingObserver::events(EventKind kind) const {
  const std::scoped_lock lock(mutex_);
  std::vector<RecordedEvent> some;
  std::copy_if(events_.begin(), events_.end(), std::back_inserter(some),
               [kind](const RecordedEvent& event) { return event.kind == kind; });
  return some;
}

std::vector<std::string> RecordingObserver::names() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const RecordedEvent& event : events_) names.push_back(event.name);
  return names;
}

std::size_t RecordingObserver::count(EventKind kind) const { return events(kind).size(); }

void RecordingObserver::clear() {
  const std::scoped_lock lock(mutex_);
  events_.clear();
}

}  // namespace triage::inline v0_1::testing
