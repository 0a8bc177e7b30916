// SPDX-License-Identifier: MIT
// Opening the Redis store, and what it knows of runs.
#include "triage/stores/redis.hpp"

#include "redis_numbers.hpp"
#include "redis_scripts.hpp"
#include "redis_store.hpp"
#include "storage/run_query.hpp"
#include "triage/detail/try.hpp"
#include "triage/json.hpp"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <string_view>

namespace triage::inline v0_1 {
namespace detail {
namespace {

constexpr std::uint64_t format = 2;  // 1 had one record in an entry; it is still read.
constexpr std::size_t runs_a_page = 1'000;

WallTime to_time(std::string_view text) {
  return WallTime(std::chrono::milliseconds(number<std::int64_t>(text)));
}

std::int64_t server_ms(const redisReply& time) {
  if (time.elements != 2) return 0;
  return number<std::int64_t>(text_of(time.element[0])) * 1'000 +
         number<std::int64_t>(text_of(time.element[1])) / 1'000;
}

}  // namespace

RedisJournals::RedisJournals(RedisAddress address, Connect connect, RedisOptions options)
    : options_(std::move(options)),
      connection_(std::move(address), std::move(connect), options_.timeout),
      mark_(real_random()->next(), !options_.read_only) {}

RedisJournals::~RedisJournals() {
  stop_queue();
  if (!process_.is_here()) connection_.abandon();
}

Result<void> RedisJournals::usable() const { return process_.check("Redis"); }

Result<void> RedisJournals::writable() const {
  if (!options_.read_only) return outcome::success();
  return Error{Errc::unsupported, "this Redis store is opened for reading only"};
}

Result<RedisReply> RedisJournals::ask(const RedisWords& words) {
  TRIAGE_TRYV(usable());
  const std::scoped_lock here(mutex_);
  return connection_.ask(words);
}

Result<RedisConnection::Replies> RedisJournals::ask_all(const std::vector<RedisWords>& questions) {
  TRIAGE_TRYV(usable());
  const std::scoped_lock here(mutex_);
  return connection_.ask_all(questions);
}

Result<RedisJournals::Answer> RedisJournals::run_script(const char* script, const RedisWords& keys,
                                                        RedisWords arguments) {
  TRIAGE_TRYV(writable());
  RedisWords words{"EVAL", script, std::to_string(keys.size())};
  words.reserve(words.size() + keys.size() + arguments.size());
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), std::make_move_iterator(arguments.begin()),
               std::make_move_iterator(arguments.end()));
  TRIAGE_TRY(reply, ask(words));
  if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0) {
    return detail::odd_redis_answer();
  }
  return Answer{text_of(reply->element[0]),
                reply->elements > 1 ? text_of(reply->element[1]) : std::string()};
}

Result<void> RedisJournals::look() {
  const auto setting = [&](const char* name) -> Result<std::string> {
    TRIAGE_TRY(reply, ask({"CONFIG", "GET", name}));
    return reply->elements == 2 ? text_of(reply->element[1]) : std::string();
  };
  TRIAGE_TRYV(ask({"PING"}));
  if (!options_.read_only) {
    const auto scripts = ask({"EVAL", "return 1", "0"});
    if (!scripts) {
      return Error{scripts.error().code,
                   "this store needs the right to run scripts: " + scripts.error().detail};
    }
  }
  const auto policy = setting("maxmemory-policy");
  // Under "volatile-…" only what has a time to live goes.
  const bool evicts = policy && (policy.value().starts_with("allkeys") ||
                                 (options_.ttl.count() > 0 && policy.value() != "noeviction"));
  if (evicts && !options_.read_only) {
    return Error{Errc::unsupported,
                 "the Redis server may drop journals when it is full "
                 "(maxmemory-policy " +
                     printable(policy.value()) + "); set noeviction"};
  }
  const auto appendonly = setting("appendonly");
  const auto appendfsync = setting("appendfsync");
  // Without permission to read the configuration, no durability is promised.
  if (appendonly && appendfsync && appendonly.value() == "yes") {
    durability_ = appendfsync.value() == "always"     ? Durability::power
                  : appendfsync.value() == "everysec" ? Durability::process
                                                      : Durability::none;
  }
  if (options_.durability && *options_.durability > durability_) {
    return Error{Errc::unsupported,
                 "the Redis server gives durability " + std::string(to_string(durability_)) +
                     ", and " + std::string(to_string(*options_.durability)) +
                     " is asked for; set appendonly yes, and appendfsync everysec (process) or "
                     "always (power)"};
  }
  if (!options_.read_only) {
    TRIAGE_TRYV(ask({"SET", options_.prefix + "format", std::to_string(format), "NX"}));
  }
  TRIAGE_TRY(stored, ask({"GET", options_.prefix + "format"}));
  if (stored->type == REDIS_REPLY_NIL) {
    return Error{Errc::not_found,
                 "no Redis store lies under the prefix \"" + printable(options_.prefix) + "\""};
  }
  const std::string has = text_of(stored.get());
  if (!is_number<std::uint64_t>(has) || number<std::uint64_t>(has) - 1 >= format) {
    return Error{Errc::unsupported, "what lies under the prefix \"" + printable(options_.prefix) +
                                        "\" has format " + printable(has) +
                                        "; this version reads formats 1 to " +
                                        std::to_string(format)};
  }
  if (!options_.read_only && number<std::uint64_t>(has) < format) {
    TRIAGE_TRYV(run_script(redis_scripts::raise, {options_.prefix + "format"},
                           {has, std::to_string(format)}));
  }
  return outcome::success();
}

StoreCapabilities RedisJournals::capabilities() const noexcept {
  return {.durability = durability_,
          .shared_by_processes = true,
          .renew_every = options_.lease_timeout / 3};
}

std::string RedisJournals::facts_key(const RunId& run) const {
  return options_.prefix + "{" + run + "}";
}
std::string RedisJournals::log_key(const RunId& run) const {
  return options_.prefix + "{" + run + "}:log";
}
std::string RedisJournals::list_key() const { return options_.prefix + "runs"; }
// In a cluster it lies where the list lies, so that one script may see both.
std::string RedisJournals::starting_key(const RunId& run) const {
  return options_.prefix + "{" + list_key() + "}:starting:" + run;
}
std::string RedisJournals::space_key(std::string_view space) const {
  return options_.prefix + "keys:" + std::string(space);
}

Result<RedisJournals::RunFacts> RedisJournals::facts_of(const RunId& run) {
  TRIAGE_TRYV(check_run_id(run));
  TRIAGE_TRY(reply, ask({"HGETALL", facts_key(run)}));
  return facts_in(run, *reply);
}

Result<RedisJournals::RunFacts> RedisJournals::facts_in(const RunId& run,
                                                        const redisReply& stored) {
  const redisReply* const reply = &stored;
  std::map<std::string, std::string> said;
  for (std::size_t i = 0; i + 1 < reply->elements; i += 2) {
    said[text_of(reply->element[i])] = text_of(reply->element[i + 1]);
  }
  if (!said.contains("birth")) {
    return Error{Errc::not_found, "no run \"" + run + "\" in this Redis store"};
  }
  RunFacts facts{.birth = said["birth"],
                 .epoch = said["epoch"],
                 .owner = said["owner"],
                 .until_ms = number<std::int64_t>(said["until"]),
                 .lease_ms = number<std::int64_t>(said["lease"]),
                 .exchanged = said["exchanged"]};
  facts.info = {.id = run,
                .agent = said["agent"],
                .label = said["label"],
                .parent = said["parent"],
                .started = to_time(said["started"]),
                .updated = to_time(said["updated"]),
                .last = number<Sequence>(said["last"])};
  const auto status = parse_run_status(said["status"]);
  facts.has_lease = is_number<std::int64_t>(facts.birth) && is_number<std::uint64_t>(facts.epoch);
  facts.info.damaged = !status || !facts.has_lease || !is_number<Sequence>(said["last"]) ||
                       !is_number<std::int64_t>(said["started"]) ||
                       !is_number<std::int64_t>(said["updated"]);
  facts.info.status = status.value_or(RunStatus::failed);
  TRIAGE_TRY(is_owned, owned(facts));
  facts.info.owned = is_owned;
  return outcome::success(std::move(facts));
}

Result<bool> RedisJournals::owned(const RunFacts& facts) {
  if (facts.owner.empty()) return outcome::success(false);
  const LeaseKey key{number<std::int64_t>(facts.birth), number<std::uint64_t>(facts.epoch)};
  if (facts.owner == mark_.text()) {
    const std::scoped_lock here(mutex_);
    const auto held = held_.find(facts.birth);
    return outcome::success(held != held_.end() && held->second.epoch == facts.epoch &&
                            !mark_.gave_up(key));
  }
  switch (check_owner(facts.owner, mark_.text(), key)) {
    case OwnerLife::alive:
    case OwnerLife::stopped: return outcome::success(true);
    case OwnerLife::gone: return outcome::success(false);
    case OwnerLife::elsewhere: break;
  }
  TRIAGE_TRY(now, ask({"TIME"}));
  return outcome::success(is_lease_held(server_ms(*now), facts.until_ms, facts.lease_ms));
}

Result<RunInfo> RedisJournals::run(const RunId& id) {
  TRIAGE_TRY(facts, facts_of(id));
  return outcome::success(std::move(facts.info));
}

// Without this, the list of runs would keep the names of all that have ever expired, and of some
// that were erased while another start of the same name failed.
void RedisJournals::forget_gone(const std::vector<RunId>& gone) {
  if (options_.read_only) return;
  for (const RunId& run : gone) static_cast<void>(unlist(run, ""));
}

Result<std::vector<RunInfo>> RedisJournals::runs(const RunQuery& query) {
  TRIAGE_TRY(reply, ask({"SMEMBERS", list_key()}));
  std::vector<RunInfo> found;
  std::vector<RunId> gone;
  for (std::size_t first = 0; first < reply->elements; first += runs_a_page) {
    const std::size_t end = std::min(first + runs_a_page, reply->elements);
    std::vector<RedisWords> questions;
    std::vector<RunId> ids;
    for (std::size_t i = first; i < end; ++i) {
      ids.push_back(text_of(reply->element[i]));
      questions.push_back({"HGETALL", facts_key(ids.back())});
    }
    TRIAGE_TRY(answers, ask_all(questions));
    for (std::size_t i = 0; i < answers.size(); ++i) {
      TRIAGE_TRY(stored, std::move(answers[i]));
      auto facts = facts_in(ids[i], *stored);
      if (!facts && facts.error().code == Errc::not_found) {  // Erased or expired.
        gone.push_back(ids[i]);
        continue;
      }
      if (!facts) return facts.error();
      if (fits(facts.value().info, query)) found.push_back(std::move(facts.value().info));
    }
  }
  forget_gone(gone);
  return outcome::success(newest_first(std::move(found), query.limit));
}

}  // namespace detail

namespace {

Result<std::shared_ptr<RedisStore>> opened(detail::RedisAddress address,
                                           RedisStore::Connect connect,
                                           const RedisOptions& options) {
  using std::chrono::milliseconds;
  const auto within = [](milliseconds value, milliseconds least, milliseconds most) {
    return value >= least && value <= most;
  };
  if (!within(options.timeout, milliseconds(10), std::chrono::minutes(10)) ||
      !within(options.lease_timeout, std::chrono::seconds(1), std::chrono::hours(24)) ||
      options.ttl.count() < 0) {
    return Error{Errc::invalid_argument,
                 "allowed are timeout 10 ms to 10 min, lease_timeout 1 s to 1 day, ttl 0 and more"};
  }
  RedisOptions own = options;
  if (!address.prefix.empty()) own.prefix = address.prefix;
  auto store = std::make_shared<detail::RedisJournals>(std::move(address), std::move(connect),
                                                       std::move(own));
  TRIAGE_TRYV(store->look());
  return outcome::success(std::shared_ptr<RedisStore>(std::move(store)));
}

}  // namespace

Result<std::shared_ptr<RedisStore>> RedisStore::open(const std::string& url,
                                                     const RedisOptions& options) {
  TRIAGE_TRY(address, detail::parse_redis_url(url));
  if (address.tls_ca.empty()) address.tls_ca = options.tls_ca;
  if (address.tls_certificate.empty() && address.tls_key.empty()) {
    address.tls_certificate = options.tls_certificate;
    address.tls_key = options.tls_key;
  }
  TRIAGE_TRYV(detail::check_tls_files(address));
  return opened(std::move(address), {}, options);
}

Result<std::shared_ptr<RedisStore>> RedisStore::on(Connect connect, const RedisOptions& options) {
  if (!connect) {
    return Error{Errc::invalid_argument, "there is no function that opens a connection to Redis"};
  }
  if (!options.tls_ca.empty() || !options.tls_certificate.empty() || !options.tls_key.empty()) {
    return Error{Errc::invalid_argument, "a connection of your own has its own TLS options"};
  }
  return opened({}, std::move(connect), options);
}

}  // namespace triage::inline v0_1
