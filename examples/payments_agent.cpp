// SPDX-License-Identifier: MIT
// An agent that charges orders through a payment service over HTTP, while both of them fail and are
// killed: with `reconcile` every order is charged exactly once, and what is undone is paid back
// exactly once.
// Usage: payments_agent [--runs N] [--orders N] [--seed S] [--kind KIND] [--without-reconcile]
// A KIND is plain, rollback, abort (which undoes everything) or fork; without it runs take turns.
// The last line is "orders=… once=… twice=… in_doubt=… lost=…"; the exit status is 0 if nothing was
// charged twice, nothing lost, amounts, receipts and refunds agree with the service's book, nothing
// was charged under another reference, and nothing is in doubt but what fell into the window.
#include "payments/agent.hpp"
#include "payments/campaign.hpp"
#include "payments/service.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Words = std::vector<std::string>;

constexpr std::array<std::string_view, payments::kinds> kind_names{"plain", "rollback", "abort",
                                                                   "fork"};

int usage() {
  std::fputs(
      "Usage: payments_agent [--runs N] [--orders N] [--seed S] [--kind KIND] "
      "[--without-reconcile]\n"
      "N: 1 to 100000; S: a number; KIND: plain, rollback, abort, fork; without reconcile plain, "
      "fork\n",
      stderr);
  return 2;
}

int serve(const Words& words) {
  return payments::serve(words[1], std::stoi(words[2]), std::stoull(words[3]));
}

int work(const Words& words) {
  return payments::work({.store = words[1],
                         .url = words[2],
                         .run = words[3],
                         .kind = static_cast<payments::Kind>(std::stoi(words[9])),
                         .doubts = words[4],
                         .orders = std::stoi(words[5]),
                         .reconcile = words[6] == "reconcile",
                         .kill_at = static_cast<payments::Point>(std::stoi(words[7])),
                         .kill_order = std::stoi(words[8])});
}

std::optional<payments::CampaignSettings> parse(const Words& words) {
  payments::CampaignSettings settings;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--without-reconcile") {
      settings.reconcile = false;
      continue;
    }
    if (i + 1 == words.size()) return std::nullopt;
    const std::string& name = words[i++];
    if (name == "--kind") {
      const auto found = std::find(kind_names.begin(), kind_names.end(), words[i]);
      if (found == kind_names.end()) return std::nullopt;
      settings.kind = static_cast<payments::Kind>(found - kind_names.begin());
      continue;
    }
    std::size_t read = 0;
    const unsigned long long number = std::stoull(words[i], &read);
    if (read != words[i].size()) return std::nullopt;
    if (name == "--seed") {
      settings.seed = number;
    } else if ((name == "--runs" || name == "--orders") && number >= 1 && number <= 100'000) {
      (name == "--runs" ? settings.runs : settings.orders) = static_cast<int>(number);
    } else {
      return std::nullopt;
    }
  }
  const bool undoes =
      settings.kind == payments::Kind::rollback || settings.kind == payments::Kind::abort;
  if (undoes && !settings.reconcile) return std::nullopt;
  return settings;
}

int campaign(payments::CampaignSettings settings) {
  settings.program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::string pattern =
      (std::filesystem::temp_directory_path() / "triage-payments-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  settings.folder = pattern;
  std::printf("%d runs of %d orders, seed %llu, %s reconcile\n", settings.runs, settings.orders,
              static_cast<unsigned long long>(settings.seed),
              settings.reconcile ? "with" : "without");
  std::fflush(stdout);
  const int status = payments::run_campaign(settings);
  if (status == 0) {
    std::filesystem::remove_all(pattern);
  } else {
    std::fprintf(stderr, "what is left is in %s\n", pattern.c_str());
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  try {
    if (words.size() == 4 && words[0] == "service") return serve(words);
    if (words.size() == 10 && words[0] == "agent") return work(words);
    const auto settings = parse(words);
    return settings ? campaign(*settings) : usage();
  } catch (const std::invalid_argument&) {
    return usage();
  } catch (const std::out_of_range&) {
    return usage();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "payments_agent: %s\n", error.what());
    return 1;
  }
}
