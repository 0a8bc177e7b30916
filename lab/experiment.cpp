// SPDX-License-Identifier: MIT
#include "triage/lab/experiment.hpp"

#include "sample_file.hpp"
#include "statistics.hpp"

#include "triage/detail/try.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace triage::inline v0_1::lab {
namespace {

using detail::SampleKey;
using detail::Samples;

constexpr std::size_t most_conditions = 10'000;

Result<void> check(const ExperimentOptions& options) {
  const auto wrong = [](std::string text) {
    return Error{Errc::invalid_argument, std::move(text)};
  };
  if (options.factors.empty()) return wrong("factors is empty; allowed is one or more");
  if (options.seeds == 0) return wrong("seeds is 0; allowed is 1 or more");
  if (options.threads < 0 || options.threads > 1'000) {
    return wrong("threads is " + std::to_string(options.threads) + "; allowed is 0 to 1000");
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

// All combinations; the last factor changes fastest.
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

// Runs what is missing, on several threads.
class Runner {
 public:
  Runner(const Trial& trial, const ExperimentOptions& options,
         const std::vector<Condition>& conditions)
      : trial_(trial), options_(options), conditions_(conditions) {}

  Result<void> run(Samples& samples, detail::SampleFile* file);

 private:
  void work(Samples& samples, detail::SampleFile* file);
  Result<Sample> sample_of(const SampleKey& key) const;
  void fail(Error error);

  const Trial& trial_;
  const ExperimentOptions& options_;
  const std::vector<Condition>& conditions_;
  std::vector<SampleKey> open_{};
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_{};
  std::optional<Error> error_{};
};

Result<Sample> Runner::sample_of(const SampleKey& key) const {
  const Condition& condition = conditions_[key.first];
  const std::string where = condition.text() + ", seed " + std::to_string(key.second) + ": ";
  try {
    Sample sample = trial_(condition, key.second);
    for (const auto& [name, value] : sample.figures) {
      if (!std::isfinite(value)) {
        return Error{Errc::invalid_argument,
                     where + "figure \"" + printable(name) + "\" is not finite"};
      }
    }
    return outcome::success(std::move(sample));
  } catch (const std::exception& e) {
    return Error{Errc::aborted, where + "the trial threw: " + e.what()};
  } catch (...) {
    return Error{Errc::aborted, where + "the trial threw something that is no std::exception"};
  }
}

void Runner::fail(Error error) {
  if (!error_) error_ = std::move(error);
  failed_ = true;
}

void Runner::work(Samples& samples, detail::SampleFile* file) {
  for (std::size_t i = next_++; i < open_.size() && !failed_; i = next_++) {
    auto sample = sample_of(open_[i]);
    const std::scoped_lock lock(mutex_);
    if (!sample) return fail(std::move(sample).error());
    if (file != nullptr) {
      if (auto kept = file->append(open_[i], sample.value()); !kept) {
        return fail(std::move(kept).error());
      }
    }
    samples.emplace(open_[i], std::move(sample).value());
    if (options_.on_progress) {
      options_.on_progress(samples.size(), conditions_.size() * options_.seeds);
    }
  }
}

Result<void> Runner::run(Samples& samples, detail::SampleFile* file) {
  // Seed by seed: what is there after a kill can be compared already.
  for (std::uint64_t i = 0; i < options_.seeds; ++i) {
    for (const Condition& condition : conditions_) {
      const SampleKey key{condition.index(), options_.first_seed + i};
      if (samples.count(key) == 0) open_.push_back(key);
    }
  }
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::size_t wanted = options_.threads > 0 ? static_cast<std::size_t>(options_.threads)
                                                  : static_cast<std::size_t>(cores);
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(wanted, open_.size()); ++i) {
      helpers.emplace_back([&] { work(samples, file); });
    }
    work(samples, file);
  }
  if (error_) return *std::move(error_);
  return outcome::success();
}

// Only samples of this experiment's seeds count; a file may have more of them.
ConditionReport report_of(const Condition& condition, const ExperimentOptions& options,
                          const Samples& samples) {
  ConditionReport report{.condition = condition};
  std::map<std::string, detail::Moments, std::less<>> moments;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const Sample& sample = samples.at({condition.index(), options.first_seed + i});
    ++report.trials;
    report.successes += sample.success ? 1 : 0;
    for (const auto& [name, value] : sample.figures) moments[name].add(value);
  }
  report.rate = static_cast<double>(report.successes) / static_cast<double>(report.trials);
  report.interval = wilson_interval(report.successes, report.trials);
  for (const auto& [name, one] : moments) report.figures.emplace(name, one.result());
  return report;
}

Difference difference_of(std::size_t from, std::size_t to, const ExperimentOptions& options,
                         const Samples& samples) {
  Difference difference{.from = from, .to = to};
  std::uint64_t gained = 0;
  std::uint64_t lost = 0;
  std::map<std::string, detail::Moments, std::less<>> moments;
  for (std::uint64_t i = 0; i < options.seeds; ++i) {
    const Sample& before = samples.at({from, options.first_seed + i});
    const Sample& after = samples.at({to, options.first_seed + i});
    gained += after.success && !before.success ? 1 : 0;
    lost += before.success && !after.success ? 1 : 0;
    for (const auto& [name, value] : after.figures) {
      const auto other = before.figures.find(name);
      if (other != before.figures.end()) moments[name].add(value - other->second);
    }
  }
  const auto trials = static_cast<double>(options.seeds);
  difference.rate = (static_cast<double>(gained) - static_cast<double>(lost)) / trials;
  difference.interval = paired_interval(gained, lost, options.seeds);
  for (const auto& [name, one] : moments) difference.figures.emplace(name, one.result());
  return difference;
}

}  // namespace

const std::string& Condition::operator[](std::string_view factor) const noexcept {
  static const std::string none;
  const auto found = std::find_if(levels_.begin(), levels_.end(),
                                  [&](const auto& level) { return level.first == factor; });
  return found == levels_.end() ? none : found->second;
}

std::string Condition::text() const {
  std::string text;
  for (const auto& [factor, level] : levels_) {
    text += (text.empty() ? "" : ", ") + printable(factor) + "=" + printable(level);
  }
  return text;
}

Result<ExperimentReport> run_experiment(const Trial& trial, const ExperimentOptions& options) {
  TRIAGE_TRYV(check(options));
  const std::vector<Condition> conditions = conditions_of(options.factors);
  Samples samples;
  std::optional<detail::SampleFile> file;
  if (!options.keep.empty()) {
    TRIAGE_TRY(opened, detail::SampleFile::open(options.keep, options.factors, samples));
    file = std::move(opened);
  }
  const auto is_mine = [&](const SampleKey& key) {
    return key.first < conditions.size() && key.second >= options.first_seed &&
           key.second - options.first_seed < options.seeds;
  };
  std::erase_if(samples, [&](const auto& one) { return !is_mine(one.first); });
  ExperimentReport report{.resumed = samples.size()};
  TRIAGE_TRYV(Runner(trial, options, conditions).run(samples, file ? &*file : nullptr));
  for (const Condition& condition : conditions) {
    report.conditions.push_back(report_of(condition, options, samples));
  }
  // The first factor changes slowest.
  const std::size_t others = conditions.size() / options.factors.front().levels.size();
  for (std::size_t i = others; i < conditions.size(); ++i) {
    report.differences.push_back(difference_of(i % others, i, options, samples));
  }
  return outcome::success(std::move(report));
}

}  // namespace triage::inline v0_1::lab
