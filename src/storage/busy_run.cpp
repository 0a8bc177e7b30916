// SPDX-License-Identifier: MIT
#include "storage/busy_run.hpp"

#include "storage/owner_mark.hpp"
#include "triage/detail/utc_text.hpp"
#include "triage/json.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include <unistd.h>

namespace triage::inline v0_1::detail {
namespace {

// Seconds since 1970; 0 if /proc does not say it. Source: proc(5), /proc/stat, btime.
std::time_t host_started() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::strtoll(line.c_str() + 6, nullptr, 10);
  }
  return 0;
}

std::string since(std::uint64_t start) {
  const std::time_t begin = host_started();
  const long ticks = ::sysconf(_SC_CLK_TCK);
  if (start == 0 || begin == 0 || ticks <= 0) return "";
  const std::time_t moment =
      begin + static_cast<std::time_t>(start / static_cast<std::uint64_t>(ticks));
  return utc_text(std::chrono::sys_seconds(std::chrono::seconds(moment)),
                  ", since %Y-%m-%d %H:%M:%S UTC");
}

std::string name_of(std::int64_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? "" : " (" + printable(name) + ")";
}

}  // namespace

std::string owner_in_words(std::string_view owner, std::string_view own) {
  const auto theirs = owner_parts(owner);
  const auto ours = owner_parts(own);
  if (!theirs) return "an unknown process";
  if (!ours || theirs->host != ours->host) {
    return "process " + std::to_string(theirs->process) +
           " on another host, or in another container";
  }
  if (theirs->process == ours->process && theirs->start == ours->start) return "this process";
  return "process " + std::to_string(theirs->process) + name_of(theirs->process) + " on this host" +
         since(theirs->start);
}

Error busy_run(std::string_view run, std::string_view owner, std::string_view own) {
  return {Errc::busy,
          "run \"" + std::string(run) + "\" is under way: " + owner_in_words(owner, own)};
}

}  // namespace triage::inline v0_1::detail
