// SPDX-License-Identifier: MIT
#pragma once
// Many runs of the agent against the service, both of them killed, and the account at the end.

#include "agent.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace payments {

struct CampaignSettings {
  std::string program{};  // This program: agents and services are other processes of it.
  std::string folder{};   // For the databases; exists.
  int runs = 20;
  int orders = 5;  // Of one run.
  std::uint64_t seed = 1;
  bool reconcile = true;
  std::optional<Kind> kind{};  // Of all runs; empty: all kinds in turn, and without reconcile those
                               // that undo nothing, since what is in doubt cannot be undone.
};

// Prints the account. Returns 0 if it is as it must be: nothing charged or paid back twice, nothing
// lost, and nothing in doubt but what fell into the window; with reconcile nothing in doubt at all.
int run_campaign(const CampaignSettings& settings);

}  // namespace payments
