// SPDX-License-Identifier: MIT
#include "circuit_breaker_machine.hpp"

#include <algorithm>

namespace triage::inline v0_1::detail {
namespace {

std::int64_t milliseconds(Duration duration) {
  return std::max<std::int64_t>(
      1, std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
}

// The start of the bucket for a call that ends now.
std::int64_t begin_of_bucket(const BreakerOptions& options, std::int64_t now) {
  const std::int64_t width = std::max<std::int64_t>(
      1, milliseconds(options.window) / static_cast<std::int64_t>(Circuit::bucket_count));
  return now - now % width;
}

void count(Circuit::Track& track, const BreakerOptions& options, std::int64_t begin, bool failed,
           bool slow) {
  // If the newest bucket is the current one, the old ones were removed when it was started.
  if (track.window.empty() || track.window.back().begin != begin) {
    const std::int64_t window = milliseconds(options.window);
    // Buckets from the future are left by a clock that was set back.
    std::erase_if(track.window, [&](const Circuit::Bucket& bucket) {
      return bucket.begin <= begin - window || bucket.begin > begin;
    });
    if (track.window.empty() || track.window.back().begin != begin) {
      track.window.push_back({.begin = begin});
    }
  }
  Circuit::Bucket& bucket = track.window.back();
  ++bucket.calls;
  bucket.failed += failed ? 1U : 0U;
  bucket.slow += slow ? 1U : 0U;
}

bool should_open(const Circuit::Track& track, const BreakerOptions& options) {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  std::uint64_t slow = 0;
  for (const Circuit::Bucket& bucket : track.window) {
    calls += bucket.calls;
    failed += bucket.failed;
    slow += bucket.slow;
  }
  if (calls < static_cast<std::uint64_t>(options.minimum_calls)) return false;
  const auto reaches = [&](std::uint64_t number, double rate) {
    return static_cast<double>(number) >= rate * static_cast<double>(calls);
  };
  return reaches(failed, options.failure_rate) ||
         (options.slow_call > Duration::zero() && reaches(slow, options.slow_rate));
}

int granted(const Circuit::Track& track) {
  return static_cast<int>(track.probes.size()) + track.succeeded;
}

}  // namespace

Circuit::Track& Circuit::track_of(FailureType type) {
  auto track = tracks.begin();
  while (track != tracks.end() && track->first < type) ++track;
  if (track == tracks.end() || track->first != type)
    track = tracks.insert(track, {type, Track{.since = changes}});
  return track->second;
}

void Circuit::turn(FailureType type, Track& track, BreakerState to, std::int64_t until,
                   Changes& changed) {
  changed.push_back({.type = type, .from = track.state, .to = to});
  track.state = to;
  track.since = ++changes;
  track.until = until;
  track.window.clear();
  track.probes.clear();
  track.succeeded = 0;
}

void Circuit::settle(const BreakerOptions& options, std::int64_t now, Changes& changed) {
  for (auto& [type, track] : tracks) {
    if (track.state == BreakerState::closed) continue;
    const bool is_open = track.state == BreakerState::open;
    // Bounds each state's duration even if the clock was set back.
    track.until = std::min(
        track.until, now + milliseconds(is_open ? options.break_duration : options.probe_lease));
    if (is_open || now < track.until) continue;
    if (track.succeeded > 0) {
      turn(type, track, BreakerState::closed, 0, changed);
    } else {
      turn(type, track, BreakerState::open, track.until + milliseconds(options.break_duration),
           changed);
    }
  }
}

Circuit::Admission Circuit::enter(const BreakerOptions& options, std::int64_t now, bool retry,
                                  Changes& changed) {
  const bool excused = options.retry_only && !retry;
  if (mode == BreakerMode::forced_closed) return {.passes = true, .ticket = changes};
  if (mode == BreakerMode::forced_open) {
    return {.passes = excused, .ticket = changes, .state = BreakerState::open};
  }
  for (const FailureType type : options.types) static_cast<void>(track_of(type));
  settle(options, now, changed);
  bool probing = false;
  for (const auto& [type, track] : tracks) {
    if (track.state == BreakerState::closed || excused) continue;
    const bool available =
        track.state == BreakerState::open ? now >= track.until : granted(track) < options.probes;
    if (!available) {
      return {.retry_in = std::max<std::int64_t>(track.until - now, 0),
              .type = type,
              .state = track.state};
    }
    probing = true;
  }
  if (!probing) {
    // The newest number may be a probe's, which only the probe may report with.
    const bool probed = std::any_of(tracks.begin(), tracks.end(), [](const auto& track) {
      return track.second.state == BreakerState::half_open;
    });
    return {.passes = true, .ticket = probed ? ++changes : changes};
  }
  for (auto& [type, track] : tracks) {
    if (track.state == BreakerState::open) {
      turn(type, track, BreakerState::half_open, now + milliseconds(options.probe_lease), changed);
    }
  }
  const std::uint64_t ticket = ++changes;
  for (auto& [type, track] : tracks) {
    if (track.state == BreakerState::half_open) track.probes.push_back(ticket);
  }
  return {.passes = true, .ticket = ticket};
}

void Circuit::leave(const BreakerOptions& options, std::int64_t now, std::uint64_t ticket,
                    const std::optional<Report>& report, Changes& changed) {
  if (mode != BreakerMode::automatic) return;
  settle(options, now, changed);
  const std::int64_t bucket = begin_of_bucket(options, now);
  for (auto& [type, track] : tracks) {
    const bool failed = report && report->failed && report->type == type;
    const bool slow = report && report->slow;
    if (track.state == BreakerState::half_open) {
      const auto probe = std::find(track.probes.begin(), track.probes.end(), ticket);
      if (probe == track.probes.end()) continue;  // From before: says nothing about now.
      track.probes.erase(probe);
      if (!report) continue;
      if (failed || slow) {
        turn(type, track, BreakerState::open, now + milliseconds(options.break_duration), changed);
      } else if (++track.succeeded >= options.probes) {
        turn(type, track, BreakerState::closed, 0, changed);
      }
    } else if (track.state == BreakerState::closed && report && ticket >= track.since) {
      count(track, options, bucket, failed, slow);
      if (should_open(track, options)) {
        turn(type, track, BreakerState::open, now + milliseconds(options.break_duration), changed);
      }
    }
  }
}

void Circuit::force(BreakerMode wanted) {
  mode = wanted;
  ++changes;
  tracks.clear();
}

Loss Circuit::loss(std::int64_t now) const {
  if (mode != BreakerMode::automatic) return Loss::promise;
  Loss worst = Loss::nothing;
  for (const auto& [type, track] : tracks) {
    if (track.state != BreakerState::closed && now < track.until) return Loss::promise;
    if (track.state != BreakerState::closed || !track.window.empty()) worst = Loss::little;
  }
  return worst;
}

// --- As JSON, for the key space.

Json Circuit::to_json() const {
  Json all = Json::object();
  for (const auto& [type, track] : tracks) {
    Json window = Json::array();
    for (const Bucket& bucket : track.window) {
      window.push_back({bucket.begin, bucket.calls, bucket.failed, bucket.slow});
    }
    all[std::string(to_string(type))] = {{"state", static_cast<int>(track.state)},
                                         {"since", track.since},
                                         {"until", track.until},
                                         {"window", std::move(window)},
                                         {"probes", track.probes},
                                         {"succeeded", track.succeeded}};
  }
  return {{"changes", changes}, {"mode", static_cast<int>(mode)}, {"tracks", std::move(all)}};
}

namespace {

Circuit::Track read_track(const Json& json) {
  Circuit::Track track;
  const int state = std::clamp(stored_number(json, "state", 0), 0, 2);
  track.state = static_cast<BreakerState>(state);
  track.since = stored_number<std::uint64_t>(json, "since", 0);
  track.until = stored_number<std::int64_t>(json, "until", 0);
  track.succeeded = std::max(0, stored_number(json, "succeeded", 0));
  const auto probes = json.find("probes");
  if (probes != json.end() && probes->is_array()) {
    for (const Json& ticket : *probes) {
      if (ticket.is_number()) track.probes.push_back(ticket.get<std::uint64_t>());
    }
  }
  const auto window = json.find("window");
  if (window == json.end() || !window->is_array()) return track;
  for (const Json& entry : *window) {
    const bool whole = entry.is_array() && entry.size() == 4 &&
                       std::all_of(entry.begin(), entry.end(),
                                   [](const Json& number) { return number.is_number(); });
    if (!whole) continue;
    track.window.push_back({.begin = entry[0].get<std::int64_t>(),
                            .calls = entry[1].get<std::uint32_t>(),
                            .failed = entry[2].get<std::uint32_t>(),
                            .slow = entry[3].get<std::uint32_t>()});
  }
  return track;
}

}  // namespace

Circuit Circuit::from_json(const Json& json) {
  Circuit circuit;
  circuit.changes = stored_number<std::uint64_t>(json, "changes", 0);
  circuit.mode = static_cast<BreakerMode>(std::clamp(stored_number(json, "mode", 0), 0, 2));
  const auto tracks = json.find("tracks");
  if (tracks == json.end() || !tracks->is_object()) return circuit;
  for (const auto& [name, track] : tracks->items()) {
    const auto type = parse_failure_type(name);
    if (type && track.is_object()) circuit.track_of(*type) = read_track(track);
  }
  return circuit;
}

}  // namespace triage::inline v0_1::detail
