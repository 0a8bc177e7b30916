// SPDX-License-Identifier: MIT
// From a C++ exception to a Failure: type, text, code and nested causes are all evidence.
#include "run/run.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <exception>
#include <memory>
#include <system_error>
#include <typeinfo>

namespace triage::inline v0_1::detail {
namespace {

constexpr std::size_t most_causes = 16;

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : type.name();
}

std::error_code code_of(const std::exception& exception) {
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  return system == nullptr ? std::error_code() : system->code();
}

std::shared_ptr<const FailureContext> failure_of(const std::exception& exception) {
  const auto* bad = dynamic_cast<const BadResult*>(&exception);
  return bad == nullptr ? nullptr : bad->error().failure();
}

void collect_causes(const std::exception& exception, std::vector<Cause>& causes,
                    std::shared_ptr<const FailureContext>& child) {
  if (causes.size() >= most_causes) return;
  try {
    std::rethrow_if_nested(exception);
  } catch (const std::exception& nested) {
    causes.push_back({type_name(typeid(nested)), nested.what(), code_of(nested)});
    if (!child) child = failure_of(nested);
    collect_causes(nested, causes, child);
  } catch (...) {
    causes.push_back({"unknown", "an exception that is no std::exception", {}});
  }
}

}  // namespace

void Run::capture(const std::exception& exception) {
  std::shared_ptr<const FailureContext> child = failure_of(exception);
  Failure failure{.text = exception.what(), .code = code_of(exception)};
  // Our own wrapper says nothing beside the error it carries.
  if (dynamic_cast<const BadResult*>(&exception) == nullptr) {
    failure.exception_type = type_name(typeid(exception));
  }
  collect_causes(exception, failure.causes, child);
  const auto* bad = dynamic_cast<const BadResult*>(&exception);
  const std::scoped_lock lock(mutex_);
  RunBody& b = body();
  if (bad != nullptr) note_child(bad->error().suspension());
  if (child) {
    b.child = std::move(child);
    b.child_at = b.journal.last();
  }
  b.failure = std::move(failure);
}

void Run::capture_unknown() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  const std::scoped_lock lock(mutex_);
  body().failure = Failure{.text = "an exception that is no std::exception",
                           .exception_type = type == nullptr ? "unknown" : type_name(*type)};
}

}  // namespace triage::inline v0_1::detail
