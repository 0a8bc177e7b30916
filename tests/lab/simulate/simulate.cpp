// SPDX-License-Identifier: MIT
// The project in simulated worlds: runs seeds until one violates an invariant, and reduces its
// faults. A seed gives the same result on every machine.
#include "worlds.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <optional>
#include <string>

namespace {

using namespace triage;
using triage::simulate::worlds;

struct Arguments {
  std::uint64_t seeds = 20'000;
  std::uint64_t first = 1;
  std::string world{};  // Empty: all.
  bool trace = false;   // Of the last seed.
  bool keep_on = false;
};

int misuse(const std::string& what) {
  std::cerr << "simulate: " << what
            << "\nusage: simulate [--seeds N] [--first SEED] [--world NAME] [--trace] [--keep-on]\n"
               "worlds:";
  for (const auto& world : worlds()) std::cerr << " " << world.name;
  std::cerr << "\n";
  return 2;
}

std::optional<std::uint64_t> number(const char* text) {
  char* end = nullptr;
  const std::uint64_t value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0') return std::nullopt;
  return value;
}

std::optional<int> read(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--trace") {
      arguments.trace = true;
      continue;
    }
    if (name == "--keep-on") {
      arguments.keep_on = true;
      continue;
    }
    if (i + 1 == argc) return misuse("no value for " + name);
    const char* value = argv[++i];
    if (name == "--world") {
      arguments.world = value;
    } else if (const auto parsed = number(value); !parsed) {
      return misuse(name + " is \"" + value + "\"; allowed is a whole number");
    } else if (name == "--seeds") {
      arguments.seeds = *parsed;
    } else if (name == "--first") {
      arguments.first = *parsed;
    } else {
      return misuse("unknown argument " + name);
    }
  }
  return {};
}

struct Sum {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t faults = 0;
  std::uint64_t violations = 0;
  double simulated = 0.0;  // Seconds.
};

// Runs the seeds of one world. False if there was a violation.
bool explore(const simulate::NamedWorld& world, std::uint64_t first, std::uint64_t count,
             const Arguments& arguments, Sum& sum) {
  lab::Simulation simulation{world.set_up,
                             {.faults = simulate::faults_of(world), .keep_trace = arguments.trace}};
  for (std::uint64_t done = 0; done < count;) {
    const auto search = simulation.search(first + done, count - done);
    done += search.seeds;
    sum.seeds += search.seeds;
    sum.events += search.events;
    sum.faults += search.faults;
    sum.simulated += std::chrono::duration<double>(search.elapsed).count();
    if (!search.found) break;
    ++sum.violations;
    std::cout << "world " << world.name << ", " << lab::describe(*search.found);
    for (const std::string& line : search.found->report.trace) std::cout << "    " << line << "\n";
    std::cout << "Again: simulate --world " << world.name << " --seeds 1 --trace --first "
              << search.found->report.seed << "\n\n"
              << std::flush;
    if (!arguments.keep_on) return false;
  }
  return true;
}

// Repeats past violations. False if one has come back.
bool repeat_regressions(const std::vector<simulate::NamedWorld>& chosen, Sum& sum) {
  bool sound = true;
  for (const simulate::Regression& one : simulate::regressions()) {
    const auto world = std::find_if(chosen.begin(), chosen.end(),
                                    [&](const auto& known) { return known.name == one.world; });
    if (world == chosen.end()) continue;
    const lab::SeedReport report = lab::Simulation(world->set_up).replay(one.seed, one.schedule);
    if (!report.violation) continue;
    sound = false;
    ++sum.violations;
    std::cout << "It has come back: " << one.what << " (world " << one.world << ", seed "
              << one.seed << "): " << report.violation->detail << "\n";
  }
  return sound;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (const auto status = read(argc, argv, arguments)) return *status;
  std::vector<simulate::NamedWorld> chosen;
  for (const auto& world : worlds()) {
    if (arguments.world.empty() || world.name == arguments.world) chosen.push_back(world);
  }
  if (chosen.empty()) return misuse("there is no world \"" + arguments.world + "\"");
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t worked = std::clock();
  Sum sum;
  const std::uint64_t each = (arguments.seeds + chosen.size() - 1) / chosen.size();
  if (!repeat_regressions(chosen, sum) && !arguments.keep_on) return 1;
  for (const auto& world : chosen) {
    const std::uint64_t count =
        std::min(each, arguments.seeds - std::min(arguments.seeds, sum.seeds));
    if (!explore(world, arguments.first, count, arguments, sum)) break;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  // Processor time of this thread, regardless of the machine's other load.
  const double core = static_cast<double>(std::clock() - worked) / CLOCKS_PER_SEC;
  std::cout << sum.seeds << " seeds, " << sum.events << " events, " << sum.faults << " faults, "
            << sum.violations << " violations, " << took.count() << " s; in " << core
            << " s of one core, a second of which simulates "
            << static_cast<double>(sum.events) / core << " events and " << sum.simulated / core
            << " s\n";
  return sum.violations == 0 ? 0 : 1;
}
