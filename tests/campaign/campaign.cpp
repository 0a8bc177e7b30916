// SPDX-License-Identifier: MIT
// Random programs against the model: forks, doubts, rollbacks, failing stores, suspensions, limits
// and two processes, all in one process on a simulated clock. The same seed gives the same programs
// everywhere.
#include "play.hpp"
#include "shrink.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>

namespace {

using namespace triage::campaign;

struct Arguments {
  std::uint64_t programs = 20'000;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> only{};
  std::uint64_t sqlite_every = 100;
  std::uint64_t differences = 1;  // Ends after this many kinds of them.
  bool verbose = false;           // Prints everything it sees.
};

int misuse(const std::string& what) {
  std::cerr
      << "program_campaign: " << what
      << "\nusage: program_campaign [--programs N] [--seed S] [--only SEED] [--sqlite-every N]"
         " [--differences N] [--verbose]\n";
  return 2;
}

std::optional<int> read(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose") {
      arguments.verbose = true;
      continue;
    }
    if (i + 1 == argc) return misuse("no value for " + name);
    const std::uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    if (name == "--programs") {
      arguments.programs = value;
    } else if (name == "--seed") {
      arguments.seed = value;
    } else if (name == "--only") {
      arguments.only = value;
    } else if (name == "--sqlite-every") {
      arguments.sqlite_every = value;
    } else if (name == "--differences") {
      arguments.differences = value;
    } else {
      return misuse("unknown argument " + name);
    }
  }
  return {};
}

Program program_of(const Arguments& arguments, std::uint64_t seed) {
  return make_program(seed, arguments.sqlite_every > 0 && seed % arguments.sqlite_every == 0);
}

// Counts by kind of difference.
using Census = std::map<std::string, std::uint64_t>;

// False if the program shows a difference.
bool try_one(const Arguments& arguments, std::uint64_t seed, std::uint64_t& attempts,
             Census& census) {
  const Program program = program_of(arguments, seed);
  if (arguments.verbose) std::cout << to_text(program) << std::flush;
  Play play(program);
  if (arguments.verbose) play.tell(std::cout);
  const std::string difference = play.run();
  attempts += static_cast<std::uint64_t>(play.attempts());
  if (difference.empty()) return true;
  if (++census[kind_of(difference)] > 1) {
    if (arguments.verbose)
      std::cout << "DIFFERENCE in program " << seed << ": " << difference << "\n";
    return false;
  }
  const Program shorter = shrink(program);
  std::cout << "DIFFERENCE in program " << seed << ": " << difference << "\n\nshortened:\n"
            << to_text(shorter) << std::flush;
  Play again(shorter);
  if (arguments.verbose) again.tell(std::cout);
  std::cout << "  " << again.run() << "\n";
  if (arguments.verbose) again.tell_journals(std::cout);
  std::cout << "Again: program_campaign --only " << seed << " --verbose\n\n" << std::flush;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  if (const auto status = read(argc, argv, arguments)) return *status;
  std::uint64_t attempts = 0;
  Census census;
  if (arguments.only) return try_one(arguments, *arguments.only, attempts, census) ? 0 : 1;
  const std::uint64_t first = (arguments.seed - 1) * 10'000'000 + 1;
  std::cout << "program_campaign: seed " << arguments.seed << ", programs " << first << " to "
            << first + arguments.programs - 1 << std::endl;
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t done = 0;
  std::uint64_t differences = 0;
  for (; done < arguments.programs && census.size() < arguments.differences; ++done) {
    if (!try_one(arguments, first + done, attempts, census)) ++differences;
  }
  for (const auto& [kind, times] : census) std::cout << times << " x " << kind << "\n";
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::cout << done << " programs, " << attempts << " attempts, " << differences << " differences, "
            << took.count() << " s, " << static_cast<double>(done) / took.count()
            << " programs a second\n";
  return differences == 0 ? 0 : 1;
}
