// SPDX-License-Identifier: MIT
#pragma once
// The state of a run of a workflow: who sees which value, and who must not write one at once.

#include "scheduler.hpp"

#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace triage::inline v0_1::workflow::detail {

using JsonPtr = std::shared_ptr<const Json>;

struct Write {
  std::string scope{};
  std::string key{};
  JsonPtr value{};  // Null, or a JSON null: the key is removed.
};

// "p|PATH" for what an executor alone sees, "s|PATH|NAME" for what the executors of one workflow
// share, "m|AGENT" for what is remembered; ids contain no "|".
inline constexpr std::string_view memory_prefix = "m|";
[[nodiscard]] std::string private_scope(const std::string& path);
[[nodiscard]] std::string shared_scope(const std::string& workflow, std::string_view name);

// In supersteps, what a delivery has written is seen by others when the superstep has been
// committed, and at once by later deliveries to the same node. In an eager workflow it is seen by
// the deliveries that it led to.
// Thread-safety: read() may be called at any time.
class Values {
 public:
  Values(const Plan& plan, Schedule schedule) : plan_(plan), schedule_(schedule) {}

  [[nodiscard]] JsonPtr read(const Delivery& reader, const std::string& scope,
                             std::string_view key) const;
  // Everything that the reader sees of a scope.
  [[nodiscard]] std::map<std::string, JsonPtr> all(const Delivery& reader,
                                                   const std::string& scope) const;
  // What the reader would see if it had written this itself.
  [[nodiscard]] JsonPtr combined(const std::string& scope, const std::string& key,
                                 const JsonPtr& before, const JsonPtr& written) const;
  // A value that was there before anything ran.
  void begin_with(const std::string& scope, const std::string& key, const Json& value) {
    committed_[{scope, key}] = std::make_shared<const Json>(value);
  }
  // A delivery has finished. Errors: Errc::conflict, naming the key and both writers.
  [[nodiscard]] Result<void> add(const Delivery& writer, std::span<const Write> writes);
  // Ends a superstep. Errors: Errc::conflict; exceptions of reducers pass through.
  [[nodiscard]] Result<void> commit();
  // {scope: {key: value}}, for the end and for people.
  [[nodiscard]] Json json() const;

 private:
  struct Entry {
    Origin writer{};
    int superstep = 0;
    JsonPtr value{};
  };
  using Key = std::pair<std::string, std::string>;
  // What a node has written to a key in this superstep, and what it sees there.
  struct Own {
    std::vector<JsonPtr> written{};
    std::size_t seen = 0;  // How many of them are in:
    JsonPtr value{};
  };
  struct Written {
    std::vector<Entry> entries{};
    std::map<std::size_t, Own> of_node{};
  };

  [[nodiscard]] const Reducer* reducer(const std::string& scope, const std::string& key) const;
  [[nodiscard]] bool led_to(const Origin& cause, const Delivery& effect) const;
  [[nodiscard]] Result<void> check_writers(const Key& key, const Delivery& writer) const;
  [[nodiscard]] JsonPtr read_eager(const Delivery& reader, const Key& key) const;
  [[nodiscard]] JsonPtr committed(const Key& key) const;
  [[nodiscard]] JsonPtr fold(const Key& key, std::vector<Entry> entries) const;

  const Plan& plan_;
  Schedule schedule_;
  mutable std::shared_mutex mutex_{};
  std::map<Key, JsonPtr> committed_{};
  // Of this superstep; eager: of the whole run. The folded values are made when somebody reads.
  mutable std::map<Key, Written> written_{};
  std::map<Origin, std::vector<Origin>> causes_{};  // Eager: what led to a delivery.
};

}  // namespace triage::inline v0_1::workflow::detail
