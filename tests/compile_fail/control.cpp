// SPDX-License-Identifier: MIT
// The corrected form of every misuse in this folder: all of this compiles.
#include "triage/agent.hpp"

#include <string>

struct Storable {
  int page = 1;
};
inline void to_json(triage::Json& json, const Storable& value) { json = value.page; }
inline void from_json(const triage::Json& json, Storable& value) { json.get_to(value.page); }

int main() {
  const triage::FailurePolicy policy;
  triage::TriageAgent changing{
      triage::per_run(
          [] { return [calls = 0](const int& task) mutable { return task + ++calls; }; }),
      policy};
  triage::TriageAgent attempting{[](const int& task, triage::Attempt&) { return task; }, policy};
  triage::TriageAgent copying{[](int task) { return ++task; }, policy};
  triage::TriageAgent storable{[](const Storable& task, triage::Attempt& attempt) {
                                 return attempt.effect("charge",
                                                       [&] { return Storable{task.page}; });
                               },
                               policy};
  auto generic = triage::make_agent<int>([](const auto& task) { return task; }, policy);
  return changing.run(1).value() + attempting.run(1).value() + copying.run(1).value() +
         generic.run(1).value() + storable.run({1}).value().page +
         storable.resume_run("crawl-1").value().page;
}
