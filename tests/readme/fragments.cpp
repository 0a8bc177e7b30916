// SPDX-License-Identifier: MIT
// The fragments of code in docs/, each with what stands around it in a program. PAGE_N.inc is the
// N-th block of C++ of docs/PAGE.md that is no complete example; CMakeLists.txt writes them, and
// refuses one that is not included here.
#include "triage/observers/redacting.hpp"
#include "triage/redaction.hpp"
#include "triage/stores/encrypted.hpp"
#include "triage/stores/memory.hpp"
#include "triage/stores/redacting.hpp"
#include "triage/testing/conformance.hpp"
#include "triage/triage.hpp"
#include "triage/workflow/run.hpp"
#include "triage/workflow/workflow.hpp"

#ifdef TRIAGE_DOCS_LLM
#include "triage/llm/classifier.hpp"
#endif

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace {

const auto work = [](int task) { return task; };

triage::FailurePolicy again() {
  triage::FailurePolicy policy;
  policy.otherwise(triage::retry());
  return policy;
}

bool contract_is_valid() {
#include "contract_1.inc"
  return triage::check_contract(contract).has_value();
}

bool gates_let_through() {
  const triage::FailurePolicy policy = again();
#include "gates_1.inc"
  return agent.run(1).has_value();
}

bool store_is_redacted() {
  const std::string api_key = "0123456789";
  const std::shared_ptr<triage::CheckpointStore> sqlite = triage::MemoryStore::create();
  struct Silent final : triage::Observer {
    void on_event(const triage::Event& /*event*/) override {}
  };
  const auto observer = std::make_shared<Silent>();
  const triage::FailurePolicy policy = again();
#include "redaction_1.inc"
  return agent.run(1).has_value();
}

// Not called: it reads a key from /etc.
[[maybe_unused]] bool store_is_encrypted(const std::shared_ptr<triage::CheckpointStore>& sqlite,
                                         const triage::StoreKey& last_years_key) {
#include "stores_1.inc"
  return store != nullptr;
}

namespace kit {
struct MyStore {
  static triage::Result<std::shared_ptr<triage::CheckpointStore>> open(
      const std::filesystem::path&) {
    return triage::MemoryStore::create();
  }
};
#define main conforms
#include "stores_2.inc"
#undef main
}  // namespace kit

bool run_is_decided() {
  triage::FailurePolicy policy;
  policy.otherwise(triage::suspend());
  const triage::TriageAgent agent{
      [](const std::string& order, triage::Attempt& attempt) -> triage::Result<std::string> {
        if (attempt.number() == 1) return attempt.fail({.text = "may I?"});
        return order;
      },
      policy,
      {.store = triage::MemoryStore::create()}};
  std::string token;
  const auto show = [&token](const std::string& given) { token = given; };
#include "suspension_1.inc"
  return done.has_value();
}

#ifdef TRIAGE_DOCS_LLM
bool model_is_asked() {
  const std::string key = "secret";
  const auto& callable = work;
  triage::PriceTable prices;
  prices.unknown_is_free();
  const triage::FailurePolicy policy = again();
#include "llm_1.inc"
  return agent.run(1).has_value();
}
#endif

namespace graphs {
using namespace triage;
using namespace triage::workflow;

std::string look_up(const std::string& topic) { return "all about " + topic + ". "; }
std::string send(const std::string& text) { return "sent: " + text; }

bool graph_runs() {
  const auto store = MemoryStore::create();
#include "workflows_1.inc"
  return result.has_value();
}

// Not called: between its lines a program builds and starts the run.
[[maybe_unused]] void person_is_asked(WorkflowBuilder& builder, WorkflowRun& run,
                                      Result<WorkflowResult> result) {
#include "workflows_2.inc"
}

bool checkpoints_are_chosen() {
  const auto store = MemoryStore::create();
  const Workflow workflow =
      WorkflowBuilder("w").executor("cheap", look_up).start("cheap").build().value();
#include "workflows_3.inc"
  return run.start_or_resume("tea").has_value();
}
}  // namespace graphs

int failed = 0;
void check(bool good, const char* what) {
  if (good) return;
  std::cerr << what << " does not do what its page says\n";
  ++failed;
}

}  // namespace

int main() {
  check(contract_is_valid(), "contract_1");
  check(gates_let_through(), "gates_1");
  check(store_is_redacted(), "redaction_1");
  check(kit::conforms() == 0, "stores_2");
  check(run_is_decided(), "suspension_1");
#ifdef TRIAGE_DOCS_LLM
  check(model_is_asked(), "llm_1");
#endif
  check(graphs::graph_runs(), "workflows_1");
  check(graphs::checkpoints_are_chosen(), "workflows_3");
  return failed == 0 ? 0 : 1;
}
