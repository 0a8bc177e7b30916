// SPDX-License-Identifier: MIT
#include "sample_file.hpp"

#include "triage/detail/try.hpp"

#include <iterator>
#include <optional>

namespace triage::inline v0_1::lab::detail {
namespace {

Json head_of(const std::vector<Factor>& factors) {
  Json all = Json::array();
  for (const Factor& factor : factors) {
    all.push_back({{"name", factor.name}, {"levels", factor.levels}});
  }
  return Json{{"triage_experiment", 1}, {"factors", std::move(all)}};
}

std::optional<std::pair<SampleKey, Sample>> sample_of(const Json& line) {
  try {
    Sample sample{.success = line.at("success").get<bool>()};
    for (const auto& [name, value] : line.at("figures").items()) {
      sample.figures.emplace(name, value.get<double>());
    }
    return std::pair{
        SampleKey{line.at("condition").get<std::size_t>(), line.at("seed").get<std::uint64_t>()},
        std::move(sample)};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

// Reads whole lines; returns how many bytes they have.
Result<std::size_t> read_lines(const std::string& name, const std::string& text,
                               const Json& wanted_head, Samples& samples) {
  std::size_t at = 0;
  for (std::size_t number = 1; at < text.size(); ++number) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;
    const Json line = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                                  text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (number == 1) {
      if (line != wanted_head) {
        return Error{Errc::conflict, name + " is not of an experiment with these factors: " +
                                         show(wanted_head["factors"])};
      }
    } else if (auto sample = sample_of(line)) {
      samples.insert_or_assign(sample->first, std::move(sample->second));
    } else {
      return Error{Errc::corrupt, name + ", line " + std::to_string(number) + ": it is no sample"};
    }
    at = end + 1;
  }
  return outcome::success(at);
}

}  // namespace

Result<SampleFile> SampleFile::open(const std::filesystem::path& path,
                                    const std::vector<Factor>& factors, Samples& samples) {
  const std::string name = "\"" + printable(path.string()) + "\"";
  const Json head = head_of(factors);
  std::string text;
  if (std::ifstream in(path, std::ios::binary); in) {
    text.assign(std::istreambuf_iterator<char>(in), {});
    if (in.bad()) return Error{Errc::io, name + " cannot be read"};
  }
  TRIAGE_TRY(whole, read_lines(name, text, head, samples));
  if (whole < text.size()) {
    std::error_code failed;
    std::filesystem::resize_file(path, whole, failed);
    if (failed) return Error{Errc::io, name + ": " + failed.message()};
  }
  SampleFile file(path);
  file.out_.open(path, std::ios::binary | std::ios::app);
  if (whole == 0) file.out_ << show(head) << "\n" << std::flush;
  if (!file.out_) return Error{Errc::io, name + " cannot be written"};
  return outcome::success(std::move(file));
}

Result<void> SampleFile::append(const SampleKey& key, const Sample& sample) {
  Json figures = Json::object();
  for (const auto& [name, value] : sample.figures) figures[name] = value;
  const Json line{{"condition", key.first},
                  {"seed", key.second},
                  {"success", sample.success},
                  {"figures", std::move(figures)}};
  out_ << show(line) << "\n" << std::flush;
  if (!out_) return Error{Errc::io, "\"" + printable(path_.string()) + "\" cannot be written"};
  return outcome::success();
}

}  // namespace triage::inline v0_1::lab::detail
