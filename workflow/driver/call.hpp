// SPDX-License-Identifier: MIT
#pragma once
// One call of a handler, as its Context sees it: the seam between the public Context and the code
// that drives the run.

#include "triage/checkpoint_store.hpp"
#include "triage/workflow/context.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace triage::inline v0_1::workflow::detail {

// The outcome of a request so far.
struct Reply {
  std::string request{};         // Its id.
  std::optional<Json> answer{};  // Empty: none yet, or it expired.
  bool expired = false;
};

// An effect on a resource shared with other executors and branches.
struct ResourceAct {
  std::string_view resource{};
  std::string_view key{};
  const Json* arguments = nullptr;  // Null: none.
  const std::function<Json(const EffectCall&)>& act;
  const EffectOptions& options;
};

class Call {
 public:
  Call() = default;
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  virtual ~Call() = default;

  [[nodiscard]] virtual const std::string& executor() const noexcept = 0;
  [[nodiscard]] virtual int occurrence() const noexcept = 0;
  [[nodiscard]] virtual int superstep() const noexcept = 0;
  virtual void send(Message message, std::optional<std::string_view> target) = 0;
  virtual void output(Message message) = 0;
  // Whether the handler's result has a destination.
  [[nodiscard]] virtual bool has_edges() const noexcept = 0;
  [[nodiscard]] virtual std::shared_ptr<const Json> input(std::string_view key) = 0;
  // scope: from private_scope() or shared_scope().
  [[nodiscard]] virtual std::shared_ptr<const Json> read(const std::string& scope,
                                                         std::string_view key) = 0;
  virtual void write(const std::string& scope, std::string_view key, Json value) = 0;
  [[nodiscard]] virtual std::string private_scope() const = 0;
  [[nodiscard]] virtual std::string shared_scope(std::string_view name) const = 0;
  // An error ends the call.
  [[nodiscard]] virtual Result<Reply> request(std::string_view port, const std::string& type,
                                              const Json& payload,
                                              const RequestOptions& options) = 0;
  [[nodiscard]] virtual Attempt& attempt() const noexcept = 0;
  // The attempt that steps and usage are recorded in: that of the executor's own policy, if any.
  [[nodiscard]] virtual Attempt& inner_attempt() const noexcept = 0;
  [[nodiscard]] virtual std::optional<TimePoint> deadline() const = 0;
  // Until then the executor's own time lasts, and that of its run: without idle_timeout.
  [[nodiscard]] virtual std::optional<TimePoint> lasts_until() const = 0;
  [[nodiscard]] virtual std::stop_token stop_token() = 0;
  [[nodiscard]] virtual Error fail(Failure failure) = 0;
  // The first error sticks: the call fails with it, whatever the handler returns.
  virtual void stick(Error error) = 0;
  // A step was recorded, possibly of a tool or a model.
  virtual void stepped(bool tool, bool model) = 0;
  [[nodiscard]] virtual WallTime wall_now() const = 0;
  [[nodiscard]] virtual std::optional<Resource> resource(std::string_view name) const = 0;
  virtual void active() = 0;  // Resets the idle timeout.
  // Null: nothing is stored.
  [[nodiscard]] virtual std::shared_ptr<CheckpointStore> store() const = 0;
  // Of an agent that the delivery runs; empty without a store.
  [[nodiscard]] virtual RunId nested_run_id(const Json& task) const = 0;
  virtual void effect_begins(std::string_view key) = 0;
  virtual void effect_ends() noexcept = 0;
  // Why no effect may begin; empty: it may.
  [[nodiscard]] virtual std::optional<Error> out_of_time() = 0;
  // Exceptions of the act propagate. Errors: see Context::effect_on.
  [[nodiscard]] virtual Result<Json> act_on(const ResourceAct& act) = 0;
  [[nodiscard]] virtual bool refuses_effects() const = 0;
  virtual void plan_patched() = 0;
  virtual void park() = 0;  // Calls the handler again once there is an answer.

 protected:
  [[nodiscard]] static Context context_of(Call& call) noexcept { return Context(&call); }
};

}  // namespace triage::inline v0_1::workflow::detail
