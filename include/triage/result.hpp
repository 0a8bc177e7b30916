// SPDX-License-Identifier: MIT
#pragma once
// The library's error type, and the result alias that every fallible function returns.

#include <boost/outcome/std_result.hpp>
#include <boost/outcome/success_failure.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <typeinfo>
#include <utility>

namespace triage::inline v0_1 {

namespace outcome = BOOST_OUTCOME_V2_NAMESPACE;

struct Failure;         // failure.hpp
struct FailureContext;  // policy.hpp
struct Suspension;      // suspension.hpp

// What the *library* could not do. What the *agent* did wrong is data: see Failure. Each code tells
// the caller what to do next. The values are stable: add new ones, never renumber.
enum class Errc {
  escalated = 1,     // The agent failed and no recovery fits. Show error.failure() to a person.
  aborted,           // A strategy gave the run up on purpose. Do not run it again unchanged.
  suspended,         // The run waits for a decision (keep error.suspension()->token, decide()),
                     // a time or a signal (resume_due(), or a workflow's resume()).
  cancelled,         // The stop token was triggered. Resume the run later if you want its result.
  invalid_argument,  // The caller passed something that is not allowed. Fix the call.
  not_found,         // No such run, checkpoint or key. Look at what is stored.
  conflict,          // The stored data does not allow this call. Read it, then decide.
  busy,              // Someone else holds the run or the store. Try the same call later.
  fenced,            // Another owner took over the run. Stop writing; it continues elsewhere.
  corrupt,           // Stored bytes fail verification. Restore an older checkpoint or ask a person.
  unsupported,       // Not possible with this build, store or file version. Use another.
  io,                // The operating system or a driver refused. See the detail.
  in_doubt,          // An effect may or may not have happened. Find out before continuing.
  exhausted,         // A budget, max_supersteps or a workflow's deadline is used up. Continue with
                     // more of it.
};

[[nodiscard]] std::string_view to_string(Errc code) noexcept;
[[nodiscard]] std::error_code make_error_code(Errc code) noexcept;

namespace detail {
struct ErrorMore;
struct ErrorFacts;
struct UnstoredEnd;
}  // namespace detail

// Why the library could not do something. A value; cheap to move.
struct Error {
  Errc code = Errc::io;
  std::string detail{};  // For people: what was wrong, which value, what is allowed. Never parsed.
                         // message() also has the advice.

  Error() = default;
  Error(Errc c, std::string text) : code(c), detail(std::move(text)) {}
  Error(Errc c, std::string text, std::shared_ptr<const FailureContext> context)
      : code(c), detail(std::move(text)), failure_(std::move(context)) {}
  Error(Errc c, std::string text, std::shared_ptr<const FailureContext> context,
        std::shared_ptr<const Suspension> token);
  // Like Attempt::fail, for code without an Attempt. The code is Errc::escalated, the detail the
  // failure's text.
  explicit Error(Failure reported);

  // The failure that ended a run (escalated, aborted, suspended), else null.
  [[nodiscard]] const std::shared_ptr<const FailureContext>& failure() const noexcept {
    return failure_;
  }
  // What was given to Attempt::fail, else null. Copies of the error keep it, so a callable may
  // prepend to `detail` and return the error: the agent sees the new text and all other facts.
  [[nodiscard]] std::shared_ptr<const Failure> reported() const noexcept;
  // The suspension of a suspended run, with its token, else null. No text, event or record shows
  // it.
  [[nodiscard]] const std::shared_ptr<const Suspension>& suspension() const noexcept;
  // What to do about it, in terms of this library; often empty.
  [[nodiscard]] std::string_view advice() const noexcept;
  // For people: `detail` and then the advice.
  [[nodiscard]] std::string message() const;
  // `detail` without the words of a failure that it goes on with, which are failure()->text. Empty:
  // all of `detail`.
  [[nodiscard]] std::string_view reason() const noexcept;
  // The key of the effect that is in doubt, as the agent gave it, for settle_effect(); empty if
  // none is named.
  [[nodiscard]] std::string_view doubted_effect() const noexcept;
  // What the agent returned, if its run succeeded but that could not be stored; else null. T is the
  // agent's result type; for void, the pointer is just not null. Copies of the error share the
  // value.
  template <class T>
  [[nodiscard]] std::shared_ptr<T> unstored_value() const noexcept {
    return std::static_pointer_cast<T>(unstored(typeid(T)));
  }

 private:
  friend struct detail::ErrorFacts;
  friend struct detail::UnstoredEnd;
  [[nodiscard]] std::shared_ptr<void> unstored(const std::type_info& type) const noexcept;

  std::shared_ptr<const FailureContext> failure_{};
  std::shared_ptr<const detail::ErrorMore> more_{};
};

namespace detail {
// The run loop announces a value; its caller's frame supplies it. Not public API.
struct UnstoredEnd {
  static void announce(Error& error);
  [[nodiscard]] static bool announced(const Error& error) noexcept;
  static void give(Error& error, std::shared_ptr<void> value, const std::type_info& type);
};
}  // namespace detail

// Thrown by Result<T>::value() if there is no value; carries the Error.
class BadResult : public std::system_error {
 public:
  explicit BadResult(const Error& error);
  [[nodiscard]] const Error& error() const noexcept { return *error_; }

 private:
  std::shared_ptr<const Error> error_;
};

// These two hooks make Outcome treat Error as an error_code that carries a payload.
[[nodiscard]] inline std::error_code make_error_code(const Error& error) {
  return make_error_code(error.code);
}
[[noreturn]] void outcome_throw_as_system_error_with_payload(const Error& error);

template <class T>
using Result = outcome::std_result<T, Error>;

// True if a fallback supplied the value instead of the agent.
// Source: Outcome reserves 16 bits of a result for its user ("spare storage").
template <class T>
[[nodiscard]] bool is_degraded(const Result<T>& result) noexcept {
  return result.has_value() && outcome::hooks::spare_storage(&result) != 0;
}

}  // namespace triage::inline v0_1

template <>
struct std::is_error_code_enum<triage::Errc> : std::true_type {};
