// SPDX-License-Identifier: MIT
// Converts a C++ exception to a Failure with its type, text, code and nested causes.
#include "base/run_catching.hpp"
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

// Of the exception in flight. Only inside a catch block.
std::string current_type_name() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  return type == nullptr ? "unknown" : type_name(*type);
}

std::error_code code_of(const std::exception& exception) {
  const auto* system = dynamic_cast<const std::system_error*>(&exception);
  return system == nullptr ? std::error_code() : system->code();
}

// What the exception chain carries besides texts; the outermost value wins.
struct Carried {
  std::shared_ptr<const FailureContext> child{};  // Failure of a nested agent.
  std::shared_ptr<const Failure> reported{};      // What was passed to Attempt::fail.

  void take(const std::exception& exception) {
    const auto* bad = dynamic_cast<const BadResult*>(&exception);
    if (bad == nullptr) return;
    if (!child) child = bad->error().failure();
    if (!reported) reported = bad->error().reported();
  }
};

void collect_causes(const std::exception& exception, std::vector<Cause>& causes, Carried& carried) {
  // It holds none if it was thrown where no exception was handled.
  const auto* nesting = dynamic_cast<const std::nested_exception*>(&exception);
  if (nesting == nullptr || !nesting->nested_ptr() || causes.size() >= most_causes) return;
  try {
    nesting->rethrow_nested();
  } catch (const std::exception& nested) {
    causes.push_back({type_name(typeid(nested)), what_of(nested), code_of(nested)});
    carried.take(nested);
    collect_causes(nested, causes, carried);
  } catch (...) {
    causes.push_back({current_type_name(), current_exception_text(), {}});
  }
}

}  // namespace

void Run::capture(const std::exception& exception) {
  const auto* bad = dynamic_cast<const BadResult*>(&exception);
  Carried carried;
  carried.take(exception);
  std::vector<Cause> causes;
  collect_causes(exception, causes, carried);
  Failure failure = carried.reported ? *carried.reported : Failure{};
  // Our own wrapper adds nothing to the error it carries.
  if (bad != nullptr && bad->error().reported()) {
    failure.text = bad->error().detail;
  } else {
    failure.text = what_of(exception);
    if (const std::error_code code = code_of(exception)) failure.code = code;
  }
  if (bad == nullptr && failure.exception_type.empty()) {
    failure.exception_type = type_name(typeid(exception));
  }
  failure.causes.insert(failure.causes.begin(), causes.begin(), causes.end());
  const std::scoped_lock lock(mutex_);
  RunData& data = made_data();
  if (bad != nullptr) {
    note_child(bad->error().suspension());
    data.stick_to_doubt(bad->error());
  }
  if (carried.child) {
    data.attempt.child = std::move(carried.child);
    data.attempt.child_at = data.journal.last();
  }
  data.report(std::move(failure));
}

void Run::capture_unknown() {
  Failure failure{.text = current_exception_text(), .exception_type = current_type_name()};
  const std::scoped_lock lock(mutex_);
  made_data().report(std::move(failure));
}

}  // namespace triage::inline v0_1::detail
