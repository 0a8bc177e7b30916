// SPDX-License-Identifier: MIT
// fit_blame FOLDER [--write FILE] [--folds N] [--without SIGNAL]…: fits the weights of a
// conversation's signals to labelled runs in the format of scripts/eval_outside, and reports the
// accuracy on held-out runs. The same runs give the same weights. Weights of a kind of conversation
// with fewer runs than folds stay as they are.
#include "classifier/blame/talk_blame.hpp"
#include "documents/failure_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace triage::inline v0_1 {
namespace {

using Weights = std::array<double, detail::signal_count>;
using detail::Candidate;
using detail::Signal;
using detail::TalkKind;

constexpr double pull = 0.03;  // Towards the assumed weights; needed with little data.
constexpr int repetitions = 5;

struct Labelled {
  std::vector<Candidate> candidates{};
  std::optional<std::size_t> right{};  // Among the candidates; none: the step to blame is not one.
  TalkKind kind = TalkKind::among_agents;
};

struct Setting {
  std::filesystem::path folder{};
  std::filesystem::path out{};
  std::size_t folds = 7;
  std::set<std::size_t> without{};
};

// Which signals count among agents, which in a service. Others (apologies, objections, empty
// results, repeated words, the share of a known answer) did not help on held-out runs.
bool counts(Signal signal, TalkKind kind) {
  switch (signal) {
    case Signal::order:
    case Signal::raised: return true;
    case Signal::asks:
    case Signal::claims:
    case Signal::first_change: return kind == TalkKind::in_service;
    case Signal::states:
    case Signal::searches:
    case Signal::futile: return kind == TalkKind::under_leader;
    case Signal::assumes:
    case Signal::idle:
    case Signal::answer: return kind != TalkKind::in_service;
    default: return kind == TalkKind::among_agents;
  }
}

// The prior weights. They stay where the training runs say nothing.
Weights assumed(TalkKind kind) {
  Weights weights{};
  const auto at = [&](Signal signal) -> double& {
    return weights[static_cast<std::size_t>(signal)];
  };
  if (kind == TalkKind::in_service) return weights;
  at(Signal::futile) = 1.0;
  at(Signal::order) = -0.3;
  at(Signal::idle) = -1.0;
  return weights;
}

std::vector<double> likely(const Labelled& run, const Weights& weights, double sharpness) {
  std::array<float, detail::signal_count> narrow{};
  std::transform(weights.begin(), weights.end(), narrow.begin(),
                 [](double weight) { return static_cast<float>(weight); });
  return detail::likelihoods(run.candidates, narrow, sharpness);
}

// Gradient ascent (Adam) on the log likelihood, with a Gaussian prior around the assumed weights.
Weights fit(const std::vector<const Labelled*>& runs, const Setting& setting, TalkKind kind) {
  const Weights prior = assumed(kind);
  Weights weights = prior;
  Weights mean{};
  Weights square{};
  for (int turn = 1; turn <= 400; ++turn) {
    Weights slope{};
    for (std::size_t k = 0; k < slope.size(); ++k) slope[k] = pull * (weights[k] - prior[k]);
    for (const Labelled* run : runs) {
      const std::vector<double> shares = likely(*run, weights, 1);
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const double off = shares[i] - (i == *run->right ? 1.0 : 0.0);
        for (std::size_t k = 0; k < slope.size(); ++k) {
          slope[k] += off * static_cast<double>(run->candidates[i].signals[k]) /
                      static_cast<double>(runs.size());
        }
      }
    }
    for (std::size_t k = 0; k < slope.size(); ++k) {
      const bool left_out = setting.without.contains(k) || !counts(static_cast<Signal>(k), kind);
      if (left_out) slope[k] = weights[k] = 0;
      mean[k] = 0.9 * mean[k] + 0.1 * slope[k];
      square[k] = 0.99 * square[k] + 0.01 * slope[k] * slope[k];
      const double step = mean[k] / (1 - std::pow(0.9, turn));
      const double size = std::sqrt(square[k] / (1 - std::pow(0.99, turn)));
      weights[k] -= 0.05 * step / (size + 1e-8);
    }
  }
  return weights;
}

std::vector<const Labelled*> learnable(const std::vector<const Labelled*>& runs) {
  std::vector<const Labelled*> kept;
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept),
               [](const Labelled* run) { return run->right.has_value(); });
  return kept;
}

// A held-out run, and the weights fitted to the others.
struct LeftOut {
  const Labelled* run;
  Weights weights;
};

// Holds out every run once per repetition, in folds drawn with a fixed seed.
std::vector<LeftOut> leave_out(const std::vector<const Labelled*>& runs, const Setting& setting,
                               TalkKind kind) {
  std::vector<LeftOut> all;
  std::uint64_t state = 1;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    std::vector<const Labelled*> mixed = runs;
    for (std::size_t i = mixed.size(); i > 1; --i) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      std::swap(mixed[i - 1], mixed[(state >> 33U) % i]);
    }
    for (std::size_t fold = 0; fold < setting.folds; ++fold) {
      std::vector<const Labelled*> rest;
      for (std::size_t i = 0; i < mixed.size(); ++i) {
        if (i % setting.folds != fold) rest.push_back(mixed[i]);
      }
      const Weights weights = fit(learnable(rest), setting, kind);
      for (std::size_t i = fold; i < mixed.size(); i += setting.folds) {
        all.push_back({mixed[i], weights});
      }
    }
  }
  return all;
}

double mean_loss(const std::vector<LeftOut>& all, double sharpness) {
  double loss = 0;
  for (const LeftOut& one : all) {
    const std::vector<double> shares = likely(*one.run, one.weights, sharpness);
    loss -= std::log(one.run->right ? std::max(shares[*one.run->right], 1e-6) : 1e-3);
  }
  return loss / static_cast<double>(all.size());
}

double best_sharpness(const std::vector<LeftOut>& all) {
  double best = 1;
  for (double tried = 0.4; tried < 1.61; tried += 0.05) {
    if (mean_loss(all, tried) < mean_loss(all, best)) best = tried;
  }
  return best;
}

void tell(const char* name, const std::vector<LeftOut>& all, double sharpness) {
  double right = 0;
  double sure = 0;
  double sure_right = 0;
  double among_three = 0;
  for (const LeftOut& one : all) {
    const std::vector<double> shares = likely(*one.run, one.weights, sharpness);
    const auto best =
        static_cast<std::size_t>(std::max_element(shares.begin(), shares.end()) - shares.begin());
    const bool exact = one.run->right == best;
    right += exact ? 1 : 0;
    if (one.run->right) {
      const auto better = std::count_if(shares.begin(), shares.end(), [&](double share) {
        return share > shares[*one.run->right];
      });
      among_three += better < 3 ? 1 : 0;
    }
    if (shares[best] < 0.5) continue;
    ++sure;
    sure_right += exact ? 1 : 0;
  }
  const auto runs = static_cast<double>(all.size());
  std::printf(
      "%s, left out: exact %.1f %%, among the best three %.1f %%, log loss %.3f; confidence of 0.5 "
      "or more: %.1f %% of the runs, exact %.1f %%; sharpness %.2f\n",
      name, 100 * right / runs, 100 * among_three / runs, mean_loss(all, sharpness),
      100 * sure / runs, sure > 0 ? 100 * sure_right / sure : 0.0, sharpness);
}

struct Learnt {
  Weights weights{};
  double sharpness = 1;
};

Learnt built_in(TalkKind kind) {
  const detail::TalkWeights& weights = detail::built_in_talk_weights(kind);
  Learnt learnt{.sharpness = weights.sharpness};
  std::copy(weights.of.begin(), weights.of.end(), learnt.weights.begin());
  return learnt;
}

Learnt learn(const char* name, const std::vector<Labelled>& all, TalkKind kind,
             const Setting& setting) {
  std::vector<const Labelled*> runs;
  for (const Labelled& run : all) {
    if (run.kind == kind && !run.candidates.empty()) runs.push_back(&run);
  }
  std::printf("%s: %zu runs%s\n", name, runs.size(),
              runs.size() < setting.folds ? ", too few: the weights stay" : "");
  if (runs.size() < setting.folds) return built_in(kind);
  const std::vector<LeftOut> left = leave_out(runs, setting, kind);
  Learnt learnt{fit(learnable(runs), setting, kind), best_sharpness(left)};
  tell(name, left, learnt.sharpness);
  for (std::size_t k = 0; k < detail::signal_count; ++k) {
    std::printf("  %-14s %+.2f\n", std::string(detail::signal_names[k]).c_str(), learnt.weights[k]);
  }
  return learnt;
}

std::vector<Labelled> read(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".labels.jsonl")) files.insert(entry.path());
  }
  std::vector<Labelled> all;
  for (const std::filesystem::path& file : files) {
    const std::string name = file.string();
    std::ifstream runs(name.substr(0, name.size() - 13) + ".jsonl");
    std::ifstream labels(file);
    std::string run;
    std::string label;
    while (std::getline(runs, run) && std::getline(labels, label)) {
      const auto reported = cli::read_reported_failure(run);
      if (!reported) continue;
      const cli::ReportedFailure& given = reported.value();
      const ClassifierInput input{.failure = given.failure,
                                  .trajectory = given.trajectory,
                                  .task = given.task,
                                  .contract = &given.contract};
      const detail::Talk talk(input);
      if (!talk.is_conversation()) continue;
      Labelled one{.candidates = weigh_candidates(talk, &given.contract), .kind = talk.kind()};
      const std::size_t step = Json::parse(label).at("step").get<std::size_t>();
      for (std::size_t i = 0; i < one.candidates.size(); ++i) {
        if (talk.steps()[one.candidates[i].position].index == step) one.right = i;
      }
      all.push_back(std::move(one));
    }
  }
  return all;
}

void write_row(std::ofstream& out, const char* name, const Learnt& learnt) {
  out << "constexpr std::array<float, signal_count> " << name << "{\n";
  for (std::size_t k = 0; k < detail::signal_count; ++k) {
    char text[64];
    std::snprintf(text, sizeof text, "    %.2fF,  // %s\n", learnt.weights[k],
                  std::string(detail::signal_names[k]).c_str());
    out << text;
  }
  out << "};\n";
}

void write(const std::filesystem::path& path, const Learnt& agents, const Learnt& service,
           const Learnt& led) {
  std::ofstream out(path);
  out << "// SPDX-License-Identifier: MIT\n// Written by tools/fit_blame; do not edit.\n"
         "#include \"classifier/blame/talk_blame.hpp\"\n\n"
         "namespace triage::inline v0_1::detail {\nnamespace {\n\n";
  write_row(out, "among_agents", agents);
  write_row(out, "in_service", service);
  write_row(out, "under_leader", led);
  char text[160];
  std::snprintf(text, sizeof text,
                "constexpr std::array<TalkWeights, talk_kinds> weights{\n"
                "    {{among_agents, %.2fF}, {in_service, %.2fF}, {under_leader, %.2fF}}};\n",
                agents.sharpness, service.sharpness, led.sharpness);
  out << text
      << "\n}  // namespace\n\n"
         "const TalkWeights& built_in_talk_weights(TalkKind kind) noexcept {\n"
         "  return weights[static_cast<std::size_t>(kind)];\n}\n\n"
         "}  // namespace triage::inline v0_1::detail\n";
}

std::optional<Setting> read_arguments(int count, char** texts) {
  Setting setting;
  for (int i = 1; i < count; ++i) {
    const std::string text = texts[i];
    if (!text.starts_with("--")) {
      setting.folder = text;
    } else if (++i == count) {
      return std::nullopt;
    } else if (text == "--write") {
      setting.out = texts[i];
    } else if (text == "--folds") {
      setting.folds = static_cast<std::size_t>(std::max(2, std::atoi(texts[i])));
    } else if (text == "--without") {
      const auto found = std::find(detail::signal_names.begin(), detail::signal_names.end(),
                                   std::string_view(texts[i]));
      if (found == detail::signal_names.end()) return std::nullopt;
      setting.without.insert(static_cast<std::size_t>(found - detail::signal_names.begin()));
    } else {
      return std::nullopt;
    }
  }
  if (setting.folder.empty()) return std::nullopt;
  return setting;
}

}  // namespace
}  // namespace triage::inline v0_1

int main(int count, char** texts) {
  using namespace triage;
  const auto setting = read_arguments(count, texts);
  if (!setting) {
    std::fputs("fit_blame FOLDER [--write FILE] [--folds N] [--without SIGNAL]…\n", stderr);
    return 2;
  }
  const std::vector<Labelled> runs = read(setting->folder);
  const Learnt agents = learn("among agents", runs, TalkKind::among_agents, *setting);
  const Learnt service = learn("in service", runs, TalkKind::in_service, *setting);
  const Learnt led = learn("under a leader", runs, TalkKind::under_leader, *setting);
  if (!setting->out.empty()) write(setting->out, agents, service, led);
  return 0;
}
