// SPDX-License-Identifier: MIT
#include "triage/hedge.hpp"

#include "triage/detail/later.hpp"

#include <atomic>
#include <condition_variable>
#include <string>
#include <system_error>
#include <thread>

namespace triage::inline v0_1 {
namespace {

Error out_of_range(const char* what, int value, const char* allowed) {
  return {Errc::invalid_argument, std::string("HedgeOptions::") + what + " is " +
                                      std::to_string(value) + "; allowed is " + allowed};
}

}  // namespace

// The calls for one value. Shared with their threads, which may outlive the caller.
struct Hedge::Race {
  std::mutex mutex{};
  std::condition_variable ended_one{};
  std::stop_source losers{};  // The calls' stop tokens.
  std::stop_source news{};    // Triggered and replaced when a call ends or the caller gives up.
  int ended = 0;
  bool given_up = false;
  std::optional<detail::HedgeEnd> winner{};
  detail::HedgeEnd last_failure{};

  void finish(detail::HedgeEnd end) {
    const bool success = end.value != nullptr;
    if (success) losers.request_stop();
    const std::scoped_lock lock(mutex);
    ++ended;
    if (!success) {
      last_failure = std::move(end);
    } else if (!winner && !given_up) {
      winner = std::move(end);
    }
    tell();
  }
  void give_up() {
    losers.request_stop();
    const std::scoped_lock lock(mutex);
    given_up = true;
    tell();
  }

 private:
  void tell() {
    std::exchange(news, std::stop_source()).request_stop();
    ended_one.notify_all();
  }
};

struct Hedge::Worker {
  std::stop_source calls{};
  std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(false);
  std::thread thread{};
};

Result<std::shared_ptr<Hedge>> Hedge::create(HedgeOptions options) {
  if (options.max_calls < 1 || options.max_calls > 16) {
    return out_of_range("max_calls", options.max_calls, "1 to 16");
  }
  if (options.max_threads < 1 || options.max_threads > 1000) {
    return out_of_range("max_threads", options.max_threads, "1 to 1,000");
  }
  if (options.delay < Duration::zero()) {
    return Error{Errc::invalid_argument, "HedgeOptions::delay is negative"};
  }
  if (!options.clock) options.clock = real_clock();
  return std::shared_ptr<Hedge>(new Hedge(std::move(options)));
}

Hedge::Hedge(HedgeOptions options) : options_(std::move(options)) {}

Hedge::~Hedge() {
  for (Worker& worker : workers_) worker.calls.request_stop();
  for (Worker& worker : workers_) worker.thread.join();
}

// False if no thread is available.
bool Hedge::begin(const std::shared_ptr<Race>& race, const Call& call) {
  const std::scoped_lock lock(mutex_);
  workers_.remove_if([](Worker& worker) {
    if (!worker.done->load()) return false;
    worker.thread.join();
    return true;
  });
  if (workers_.size() >= static_cast<std::size_t>(options_.max_threads)) return false;
  Worker worker{.calls = race->losers};
  try {
    worker.thread = std::thread([race, call, done = worker.done] {
      race->finish(call(race->losers.get_token()));
      done->store(true);
    });
  } catch (const std::system_error&) {
    return false;
  }
  workers_.push_back(std::move(worker));
  return true;
}

detail::HedgeEnd Hedge::run(Call call, std::stop_token stop) {
  const auto race = std::make_shared<Race>();
  const std::stop_callback forward(stop, [race] { race->give_up(); });
  int begun = 0;
  int most = options_.max_calls;
  std::unique_lock lock(race->mutex);
  for (;;) {
    if (race->winner) return *std::move(race->winner);
    if (race->given_up) {
      return {.error = Error{Errc::cancelled, "the stop token was triggered during a hedged call"}};
    }
    if (begun > 0 && race->ended == begun && begun >= most) return std::move(race->last_failure);
    if (begun >= most) {
      race->ended_one.wait(lock);
      continue;
    }
    const int ended = race->ended;
    lock.unlock();
    if (begin(race, call)) {
      ++begun;
    } else if (begun == 0) {
      return call(std::move(stop));
    } else {
      most = begun;
    }
    lock.lock();
    if (race->ended != ended || race->given_up || begun >= most) continue;
    const std::stop_token news = race->news.get_token();
    lock.unlock();
    const TimePoint next = detail::later(options_.clock->now(), options_.delay);
    static_cast<void>(options_.clock->sleep_until(next, news));
    lock.lock();
  }
}

}  // namespace triage::inline v0_1
