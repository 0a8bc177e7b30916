// SPDX-License-Identifier: MIT
#pragma once
// The state of a workflow's run: who sees which value, and which concurrent writes conflict.

#include "schedule/scheduler.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

using JsonPtr = std::shared_ptr<const Json>;

struct Write {
  std::string scope{};
  std::string key{};
  JsonPtr value{};    // Null or a JSON null removes the key.
  bool sets = false;  // Whatever was there before: not combined by a reducer.
};

// "p|PATH" for an executor's private values, "s|PATH|NAME" for values shared in a workflow,
// "m|AGENT" for memories; ids contain no "|".
inline constexpr std::string_view memory_prefix = "m|";
[[nodiscard]] std::string private_scope(const std::string& path);
[[nodiscard]] std::string shared_scope(const std::string& workflow, std::string_view name);

class Values;
// What an executor's private values become after this delivery: those that a migration has left, an
// object, and nothing else.
[[nodiscard]] std::vector<Write> migrated_writes(const Values& values, const Delivery& after,
                                                 const std::string& scope, const Json& migrated);

// In supersteps, others see what a delivery wrote once the superstep is committed; later deliveries
// to the same node see it at once. In an eager workflow, the deliveries that it led to see it.
// Thread-safety: read() may be called at any time.
class Values {
 public:
  Values(const Plan& plan, Schedule schedule) : plan_(plan), schedule_(schedule) {}

  [[nodiscard]] JsonPtr read(const Delivery& reader, const std::string& scope,
                             std::string_view key) const;
  // All values of a scope that the reader sees.
  [[nodiscard]] std::map<std::string, JsonPtr> all(const Delivery& reader,
                                                   const std::string& scope) const;
  // What the reader would see after writing this itself.
  [[nodiscard]] JsonPtr combined(const std::string& scope, const std::string& key,
                                 const JsonPtr& before, const JsonPtr& written) const;
  // Whether what is written is combined with what was there, instead of taking its place.
  [[nodiscard]] bool combines(const std::string& scope, const std::string& key) const {
    return reducer(scope, key) != nullptr;
  }
  // A value from before the run.
  void begin_with(const std::string& scope, const std::string& key, const Json& value) {
    committed_[{scope, key}] = std::make_shared<const Json>(value);
  }
  // Adds a finished delivery's writes. Errors: Errc::conflict, naming the key and both writers;
  // nothing that was written in the superstep counts then.
  [[nodiscard]] Result<void> add(const Delivery& writer, std::span<const Write> writes);
  // Ends a superstep. Errors: Errc::conflict; exceptions of reducers propagate.
  [[nodiscard]] Result<void> commit();
  // {scope: {key: value}}, for the end of the run and for display.
  [[nodiscard]] Json json() const;

 private:
  struct Entry {
    Origin writer{};
    int superstep = 0;
    JsonPtr value{};
    bool sets = false;
  };
  static bool is_before(const Entry& a, const Entry& b) {
    return std::tie(a.superstep, a.writer) < std::tie(b.superstep, b.writer);
  }
  using Key = std::pair<std::string, std::string>;
  // What a node has written to a key in this superstep, and what it sees there.
  struct Own {
    std::vector<Entry> written{};
    std::size_t seen = 0;  // How many of them are in:
    JsonPtr value{};
  };
  struct Written {
    std::vector<Entry> entries{};
    std::map<std::size_t, Own> of_node{};
    // Eager, under pasts_mutex_: deliveries that are known to see the newest entry, though it is
    // not of a delivery whose messages they got.
    mutable std::set<Origin> seen_by{};
  };

  [[nodiscard]] const Reducer* reducer(const std::string& scope, const std::string& key) const;
  // By node: up to which occurrence its deliveries belong to it.
  using Past = std::unordered_map<std::size_t, int>;
  [[nodiscard]] std::shared_ptr<const Past> past_of(const Delivery& delivery) const;
  [[nodiscard]] static bool belongs_to(const Past& past, const Origin& origin) {
    const auto known = past.find(origin.node);
    return known != past.end() && origin.occurrence <= known->second;
  }
  [[nodiscard]] bool sees_newest(const Delivery& reader, const Written& written) const;
  [[nodiscard]] Result<void> check_writers(const Key& key, const Delivery& writer) const;
  [[nodiscard]] JsonPtr read_eager(const Delivery& reader, const Key& key) const;
  [[nodiscard]] JsonPtr committed(const Key& key) const;
  [[nodiscard]] JsonPtr after(const Key& key, const JsonPtr& before, const Entry& entry) const;
  [[nodiscard]] JsonPtr fold(const Key& key, std::vector<Entry> entries) const;

  const Plan& plan_;
  Schedule schedule_;
  mutable std::shared_mutex mutex_{};
  std::map<Key, JsonPtr> committed_{};
  // Of this superstep; eager: of the whole run. The folded values are made when somebody reads.
  mutable std::map<Key, Written> written_{};
  bool refused_ = false;                            // The superstep will not be committed.
  std::map<Origin, std::vector<Origin>> causes_{};  // Eager: what led to a delivery.
  mutable std::mutex pasts_mutex_{};
  // Eager, under pasts_mutex_: of the delivery at work, and of the last one of a node that has had
  // several. Others would take a lot of memory, for nothing.
  mutable std::map<std::size_t, std::shared_ptr<const Past>> pasts_{};
};

}  // namespace triage::inline v0_1::workflow::detail
