// SPDX-License-Identifier: MIT
// Violations that the simulation has found in this project, with reduced faults.
#include "worlds.hpp"

namespace triage::simulate {

using lab::Fault;

const std::vector<Regression>& regressions() {
  static const std::vector<Regression> all{
      {"signals",
       1146,
       "a signal counts as sent to a run that has ended, if its status cannot be read",
       {{.place = "sender-2:store//put_if", .fault = Fault::kill},
        {.place = "sender-2:store//run", .visit = 2, .fault = Fault::store_outage}}},
      {"signals",
       1254,
       "the same where the answer is lost",
       {{.place = "sender-2:store//get", .fault = Fault::kill},
        {.place = "sender-2:store//run", .visit = 2, .fault = Fault::lost_answer}}},
      {"signals",
       107502,
       "a run that failed and goes on takes another answer as sent",
       {{.place = "asker:store//get", .fault = Fault::lost_answer},
        {.place = "sender-2:store//get", .fault = Fault::store_outage},
        {.place = "asker:store//append", .visit = 5, .fault = Fault::store_outage},
        {.place = "asker:store//acquire", .visit = 3, .fault = Fault::store_outage}}},
      {"branch_off",
       165,
       "a what-if acts if the record that makes it one cannot be read",
       {{.place = "branch-1:store//record", .visit = 2, .fault = Fault::corrupt_checkpoint}}}};
  return all;
}

}  // namespace triage::simulate
