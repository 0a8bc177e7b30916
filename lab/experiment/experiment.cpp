// SPDX-License-Identifier: MIT
#include "triage/lab/experiment.hpp"

#include "lab/base/draws.hpp"
#include "lab/experiment/experiment_sums.hpp"

#include "triage/agent.hpp"
#include "triage/detail/hex.hpp"
#include "triage/detail/joined.hpp"
#include "triage/detail/try.hpp"
#include "triage/policies/stop.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using detail::ExperimentSums;

// Raised when what is stored of a sum changes: results of other versions are begun anew.
constexpr int sums_format = 4;
constexpr std::size_t most_conditions = 10'000;

Result<void> check(const ExperimentOptions& options) {
  const auto wrong = [](std::string text) {
    return Error{Errc::invalid_argument, std::move(text)};
  };
  if (options.factors.empty()) return wrong("factors is empty; allowed is one or more");
  if (options.seeds == 0 || options.seeds > most_seeds) {
    return wrong("seeds is " + std::to_string(options.seeds) + "; allowed is 1 to " +
                 std::to_string(most_seeds));
  }
  if (options.threads < 0 || options.threads > 1'000) {
    return wrong("threads is " + std::to_string(options.threads) + "; allowed is 0 to 1000");
  }
  if (options.store) {
    if (auto id = check_run_id(experiment_run(options)); !id) return id;
  }
  std::set<std::string> names;
  std::size_t conditions = 1;
  for (const Factor& factor : options.factors) {
    const std::string name = "factor \"" + printable(factor.name) + "\"";
    if (!names.insert(factor.name).second) return wrong(name + " is there twice");
    if (factor.levels.empty()) return wrong(name + " has no levels");
    const std::set<std::string> levels(factor.levels.begin(), factor.levels.end());
    if (levels.size() != factor.levels.size()) return wrong(name + " has a level twice");
    conditions *= levels.size();
    if (conditions > most_conditions) {
      return wrong("the factors have more than " + std::to_string(most_conditions) +
                   " combinations");
    }
  }
  return outcome::success();
}

// All combinations of levels; the last factor changes fastest.
std::vector<Condition> conditions_of(const std::vector<Factor>& factors) {
  std::size_t count = 1;
  for (const Factor& factor : factors) count *= factor.levels.size();
  std::vector<Condition> all;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::pair<std::string, std::string>> levels(factors.size());
    std::size_t rest = i;
    for (std::size_t f = factors.size(); f-- > 0;) {
      const Factor& factor = factors[f];
      levels[f] = {factor.name, factor.levels[rest % factor.levels.size()]};
      rest /= factor.levels.size();
    }
    all.emplace_back(i, std::move(levels));
  }
  return all;
}

using Trial = std::function<Sample(const Condition&, std::uint64_t)>;

// Divides the seeds into blocks of equal length: the unit of storage and of a thread's work. Their
// length depends only on the experiment, so rounding in the means is reproducible.
class Blocks {
 public:
  Blocks(const ExperimentOptions& options, std::size_t conditions)
      : first_seed_(options.first_seed), seeds_(options.seeds) {
    // Few if a block is large, because each of them is a record.
    const std::uint64_t wanted = std::clamp<std::uint64_t>(10'000 / conditions, 4, 100);
    length_ = (seeds_ + wanted - 1) / wanted;
  }
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>((seeds_ + length_ - 1) / length_);
  }
  [[nodiscard]] std::uint64_t seeds_of(std::size_t block) const {
    return std::min(length_, seeds_ - static_cast<std::uint64_t>(block) * length_);
  }
  [[nodiscard]] std::uint64_t first_of(std::size_t block) const {
    return first_seed_ + static_cast<std::uint64_t>(block) * length_;
  }

 private:
  std::uint64_t first_seed_;
  std::uint64_t seeds_;
  std::uint64_t length_ = 1;
};

// Runs the missing blocks on several threads.
class Runner {
 public:
  // Called for each block that was run, by one thread at a time.
  using OnBlock = std::function<void(std::size_t, const ExperimentSums&)>;

  Runner(const Trial& trial, const ExperimentOptions& options,
         const std::vector<Condition>& conditions)
      : trial_(trial),
        options_(options),
        conditions_(conditions),
        others_(conditions.size() / options.factors.front().levels.size()),
        blocks_(options, conditions.size()),
        done_(blocks_.size()),
        endless_(conditions.size()) {}

  // Loads a block that was run earlier.
  void take(std::size_t block, const Json& json);
  Result<void> run(const OnBlock& on_block, const std::stop_token& stop);
  [[nodiscard]] ExperimentSums sum() const;
  [[nodiscard]] ExperimentSums no_sums() const { return {conditions_.size(), others_}; }
  [[nodiscard]] std::uint64_t taken() const noexcept { return taken_; }

 private:
  void work(const OnBlock& on_block, const std::stop_token& stop);
  Result<ExperimentSums> block_of(std::size_t block, const std::stop_token& stop);
  Result<Sample> sample_of(const Condition& condition, std::uint64_t seed) const;
  [[nodiscard]] bool left_out(std::size_t condition, std::uint64_t number) const;
  void note_endless(std::size_t condition, std::uint64_t number);
  void tell_progress(std::uint64_t samples);

  const Trial& trial_;
  const ExperimentOptions& options_;
  const std::vector<Condition>& conditions_;
  const std::size_t others_;
  const Blocks blocks_;
  std::vector<std::optional<ExperimentSums>> done_;
  std::uint64_t taken_ = 0;  // Samples.
  // Of each condition the first seed that is known to come to no end, counted from 1; 0: none.
  // Later seeds are left out, and earlier ones are not, so it is the first one of all in the end.
  std::vector<std::atomic<std::uint64_t>> endless_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_{};
  std::uint64_t samples_ = 0;
  std::optional<Error> error_{};
};

Result<Sample> Runner::sample_of(const Condition& condition, std::uint64_t seed) const {
  const auto where = [&] { return condition.text() + ", seed " + std::to_string(seed) + ": "; };
  try {
    Sample sample = trial_(condition, seed);
    for (const auto& [name, value] : sample.figures) {
      if (!std::isfinite(value)) {
        return Error{Errc::invalid_argument,
                     where() + "figure \"" + printable(name) + "\" is not finite"};
      }
    }
    return outcome::success(std::move(sample));
  } catch (const std::exception& e) {
    return Error{Errc::aborted, where() + "the trial threw: " + e.what()};
  } catch (...) {
    return Error{Errc::aborted, where() + "the trial threw something that is not a std::exception"};
  }
}

void Runner::take(std::size_t block, const Json& json) {
  ExperimentSums sums = no_sums();
  if (block >= done_.size() || done_[block] || !sums.read(json)) return;
  for (std::size_t c = 0; c < conditions_.size(); ++c) {
    if (const auto& one = sums.endless(c)) note_endless(c, one->seed - options_.first_seed + 1);
  }
  done_[block] = std::move(sums);
  taken_ += blocks_.seeds_of(block) * conditions_.size();
}

void Runner::tell_progress(std::uint64_t samples) {
  if (!options_.on_progress) return;
  const std::scoped_lock lock(mutex_);
  samples_ += samples;
  try {
    options_.on_progress(samples_, conditions_.size() * options_.seeds);
  } catch (...) {  // On a thread of ours it would end the process.
  }
}

bool Runner::left_out(std::size_t condition, std::uint64_t number) const {
  const std::uint64_t first = endless_[condition];
  return first > 0 && number > first;
}

void Runner::note_endless(std::size_t condition, std::uint64_t number) {
  std::uint64_t first = endless_[condition];
  while ((first == 0 || number < first) &&
         !endless_[condition].compare_exchange_weak(first, number)) {}
}

Result<ExperimentSums> Runner::block_of(std::size_t block, const std::stop_token& stop) {
  ExperimentSums sums = no_sums();
  std::vector<Sample> samples(conditions_.size());
  for (std::uint64_t i = 0; i < blocks_.seeds_of(block); ++i) {
    const std::uint64_t seed = blocks_.first_of(block) + i;
    const std::uint64_t number = seed - options_.first_seed + 1;
    for (std::size_t c = 0; c < conditions_.size(); ++c) {
      if (failed_ || stop.stop_requested()) return Error{Errc::cancelled, "stopped"};
      if (left_out(c, number)) {
        samples[c] = {.endless = "a former seed came to no end"};
        continue;
      }
      TRIAGE_TRY(sample, sample_of(conditions_[c], seed));
      if (!sample.endless.empty()) note_endless(c, number);
      samples[c] = std::move(sample);
    }
    sums.add(samples, seed);
    tell_progress(conditions_.size());
  }
  return outcome::success(std::move(sums));
}

void Runner::work(const OnBlock& on_block, const std::stop_token& stop) {
  for (std::size_t i = next_++; i < done_.size() && !failed_; i = next_++) {
    if (done_[i]) continue;  // Nobody else writes to this place.
    auto sums = block_of(i, stop);
    const std::scoped_lock lock(mutex_);
    if (!sums) {
      if (!failed_) error_ = std::move(sums).error();
      failed_ = true;
      return;
    }
    on_block(i, sums.value());
    done_[i] = std::move(sums).value();
  }
}

Result<void> Runner::run(const OnBlock& on_block, const std::stop_token& stop) {
  samples_ = taken_;
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = options_.threads > 0 ? static_cast<std::size_t>(options_.threads)
                                                  : static_cast<std::size_t>(cores);
  {
    std::vector<std::jthread> helpers;
    try {
      for (std::size_t i = 1; i < std::min(wanted, done_.size()); ++i) {
        helpers.emplace_back([&] { work(on_block, stop); });
      }
    } catch (const std::system_error&) {  // No more threads: these do the work.
    }
    work(on_block, stop);
  }
  if (error_) return *std::move(error_);
  return outcome::success();
}

ExperimentSums Runner::sum() const {
  ExperimentSums sums = no_sums();
  for (const auto& block : done_) sums.add(*block);
  return sums;
}

// Runs the experiment as a run of an agent: each block is a durable step.
Result<Json> run_stored(const Trial& trial, const ExperimentOptions& options,
                        const std::vector<Condition>& conditions, std::uint64_t& resumed) {
  std::optional<Error> failed;
  bool called = false;
  const auto work = [&](const std::string&, Attempt& attempt) -> Result<Json> {
    called = true;
    Runner runner(trial, options, conditions);
    for (const Step& step : attempt.trajectory()) {
      if (!step.metadata.is_object()) continue;
      const auto block = step.metadata.find("block");
      const auto sums = step.metadata.find("sums");
      if (block == step.metadata.end() || sums == step.metadata.end()) continue;
      if (block->is_number_unsigned()) runner.take(block->get<std::size_t>(), *sums);
    }
    resumed = runner.taken();
    auto done = runner.run(
        [&](std::size_t block, const ExperimentSums& sums) {
          attempt.record_step({.action = "block " + std::to_string(block + 1),
                               .idempotent = true,
                               .metadata = Json{{"block", block}, {"sums", sums.json()}}});
        },
        attempt.stop_token());
    if (!done) {
      failed = std::move(done).error();
      return attempt.fail({.text = failed->detail});
    }
    return outcome::success(runner.sum().json());
  };
  const TriageAgent agent{
      work, FailurePolicy().otherwise(escalate()),
      AgentOptions{
          .name = "experiment", .store = options.store, .write_mode = WriteMode::immediate}};
  // A failed trial may succeed now, and one that killed its process is run again.
  auto result = agent.run_or_resume(experiment_run(options), options.name, {.revive = true});
  if (failed) return *std::move(failed);
  if (result && !called) resumed = conditions.size() * options.seeds;
  return result;
}

}  // namespace

const std::string& Condition::operator[](std::string_view factor) const noexcept {
  static const std::string none;
  const auto found = std::find_if(levels_.begin(), levels_.end(),
                                  [&](const auto& level) { return level.first == factor; });
  return found == levels_.end() ? none : found->second;
}

std::string Condition::text() const {
  return triage::detail::joined(levels_, [](const auto& level) {
    return printable(level.first) + "=" + printable(level.second);
  });
}

RunId experiment_run(const ExperimentOptions& options) {
  Json all{{"sums", sums_format},
           {"trial", options.trial},
           {"first_seed", options.first_seed},
           {"seeds", options.seeds},
           {"factors", Json::array()}};
  for (const Factor& factor : options.factors) {
    all["factors"].push_back(Json::array({factor.name, factor.levels}));
  }
  return options.name + "-" + triage::detail::hex_number(detail::fnv1a(show(all)));
}

Result<ExperimentReport> run_experiment(const Trial& trial, const ExperimentOptions& options) {
  TRIAGE_TRYV(check(options));
  const std::vector<Condition> conditions = conditions_of(options.factors);
  if (!options.store) {
    Runner runner(trial, options, conditions);
    TRIAGE_TRYV(runner.run([](std::size_t, const ExperimentSums&) {}, {}));
    return outcome::success(runner.sum().report(conditions));
  }
  std::uint64_t resumed = 0;
  TRIAGE_TRY(stored, run_stored(trial, options, conditions, resumed));
  ExperimentSums sums = Runner(trial, options, conditions).no_sums();
  if (!sums.read(stored)) {
    return Error{Errc::corrupt, "the result of the run " + experiment_run(options) +
                                    " is not that of this experiment"};
  }
  ExperimentReport report = sums.report(conditions);
  report.resumed = resumed;
  return outcome::success(std::move(report));
}

}  // namespace triage::inline v0_1::lab
