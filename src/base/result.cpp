// SPDX-License-Identifier: MIT
#include "triage/result.hpp"

#include "base/error_more.hpp"

namespace triage::inline v0_1 {
namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "triage"; }
  std::string message(int code) const override {
    return std::string(to_string(static_cast<Errc>(code)));
  }
};

}  // namespace

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::escalated: return "escalated";
    case Errc::aborted: return "aborted";
    case Errc::suspended: return "suspended";
    case Errc::cancelled: return "cancelled";
    case Errc::invalid_argument: return "invalid_argument";
    case Errc::not_found: return "not_found";
    case Errc::conflict: return "conflict";
    case Errc::busy: return "busy";
    case Errc::fenced: return "fenced";
    case Errc::corrupt: return "corrupt";
    case Errc::unsupported: return "unsupported";
    case Errc::io: return "io";
    case Errc::in_doubt: return "in_doubt";
    case Errc::exhausted: return "exhausted";
  }
  return "unknown_error";
}

std::error_code make_error_code(Errc code) noexcept {
  static const Category category;
  return {static_cast<int>(code), category};
}

BadResult::BadResult(const Error& error)
    : std::system_error(make_error_code(error.code), error.message()),
      error_(std::make_shared<const Error>(error)) {}

void outcome_throw_as_system_error_with_payload(const Error& error) { throw BadResult(error); }

namespace {

constexpr std::string_view nothing_said = "the attempt failed";

}  // namespace

Error::Error(Errc c, std::string text, std::shared_ptr<const FailureContext> context,
             std::shared_ptr<const Suspension> token)
    : code(c), detail(std::move(text)), failure_(std::move(context)) {
  if (!token) return;
  more_ = std::make_shared<const detail::ErrorMore>(std::move(token));
}

Error::Error(Failure reported)
    : code(Errc::escalated), detail(reported.text.empty() ? nothing_said : reported.text) {
  more_ = std::make_shared<const detail::ErrorMore>(std::move(reported));
}

std::shared_ptr<const Failure> Error::reported() const noexcept {
  if (!more_ || !more_->is_report) return nullptr;
  return {more_, &more_->reported};
}

const std::shared_ptr<const Suspension>& Error::suspension() const noexcept {
  static constinit const std::shared_ptr<const Suspension> none{};
  return more_ ? more_->suspension : none;
}

std::string_view Error::advice() const noexcept {
  return more_ ? std::string_view(more_->advice) : std::string_view();
}

std::string Error::message() const {
  const std::string_view what = advice();
  return what.empty() ? detail : detail + "; " + std::string(what);
}

std::string_view Error::reason() const noexcept {
  return more_ ? std::string_view(more_->reason) : std::string_view();
}

std::string_view Error::doubted_effect() const noexcept {
  return more_ ? std::string_view(more_->doubted_effect) : std::string_view();
}

std::shared_ptr<void> Error::unstored(const std::type_info& type) const noexcept {
  if (!more_ || more_->value_type == nullptr || *more_->value_type != type) return nullptr;
  return more_->value;
}

namespace detail {
namespace {

// Copies of an error share what is there, so it is copied.
template <class T>
void put(std::shared_ptr<const ErrorMore>& more, T ErrorMore::*member, T value) {
  const auto changed = more ? std::make_shared<ErrorMore>(*more) : std::make_shared<ErrorMore>();
  (*changed).*member = std::move(value);
  more = changed;
}

}  // namespace

std::shared_ptr<const Failure> reported_by(Error&& error) {
  std::shared_ptr<const Failure> reported = error.reported();
  const bool coded = error.code != Errc::escalated;
  if (reported) {
    const bool same =
        error.detail == (reported->text.empty() ? nothing_said : std::string_view(reported->text));
    if (same && !coded) return reported;
    Failure changed = *reported;
    if (!same) changed.text = std::move(error.detail);
    if (coded && !changed.code) changed.code = make_error_code(error.code);
    return std::make_shared<const Failure>(std::move(changed));
  }
  if (error.detail.empty()) error.detail = to_string(error.code);
  return std::make_shared<const Failure>(
      Failure{.text = error.message(), .code = make_error_code(error.code)});
}

void ErrorFacts::advise(Error& error, std::string advice) {
  put(error.more_, &ErrorMore::advice, std::move(advice));
}

void ErrorFacts::because(Error& error, std::string reason) {
  put(error.more_, &ErrorMore::reason, std::move(reason));
}

void ErrorFacts::doubt(Error& error, std::string key) {
  put(error.more_, &ErrorMore::doubted_effect, std::move(key));
}

void ErrorFacts::failed(Error& error, std::shared_ptr<const FailureContext> failure) noexcept {
  error.failure_ = std::move(failure);
}

Error ErrorFacts::told(const Error& error, std::shared_ptr<const FailureContext> failure,
                       const std::function<std::string(std::string_view)>& change) {
  Error copy(error.code, change(error.detail), std::move(failure));
  if (!error.more_) return copy;
  const auto more = std::make_shared<ErrorMore>();
  for (std::string ErrorMore::*text :
       {&ErrorMore::advice, &ErrorMore::reason, &ErrorMore::doubted_effect}) {
    (*more).*text = change((*error.more_).*text);
  }
  copy.more_ = more;
  return copy;
}

void UnstoredEnd::announce(Error& error) {
  const auto more = std::make_shared<ErrorMore>();
  more->finished = true;
  more->advice = "Error::unstored_value has what the agent returned";
  error.more_ = more;
}

bool UnstoredEnd::announced(const Error& error) noexcept {
  return error.more_ && error.more_->finished;
}

void UnstoredEnd::give(Error& error, std::shared_ptr<void> value, const std::type_info& type) {
  const auto more =
      error.more_ ? std::make_shared<ErrorMore>(*error.more_) : std::make_shared<ErrorMore>();
  more->finished = true;
  more->value = std::move(value);
  more->value_type = &type;
  error.more_ = more;
}

}  // namespace detail

}  // namespace triage::inline v0_1
