// SPDX-License-Identifier: MIT
#include "triage/result.hpp"

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
    : std::system_error(make_error_code(error.code), error.detail),
      error_(std::make_shared<const Error>(error)) {}

void outcome_throw_as_system_error_with_payload(const Error& error) { throw BadResult(error); }

const std::shared_ptr<const Suspension>& Error::suspension() const noexcept {
  static constinit const std::shared_ptr<const Suspension> none{};
  return more_ ? more_->suspension : none;
}

void detail::UnstoredEnd::announce(Error& error) {
  error.more_ = std::make_shared<const ErrorMore>(ErrorMore{.finished = true});
}

void detail::UnstoredEnd::give(Error& error, std::shared_ptr<void> value,
                               const std::type_info& type) {
  error.more_ = std::make_shared<const ErrorMore>(
      ErrorMore{.finished = true, .value = std::move(value), .value_type = &type});
}

}  // namespace triage::inline v0_1
