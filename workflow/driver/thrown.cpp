// SPDX-License-Identifier: MIT
#include "thrown.hpp"
#include "base/run_catching.hpp"
#include "triage/failure.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <typeinfo>
#include <utility>
#include <vector>

namespace triage::inline v0_1::workflow::detail {
namespace {

constexpr std::size_t most_causes = 16;

// Of the exception in flight. Only inside a catch block.
std::string current_type_name() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return "unknown";
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? name.get() : type->name();
}

// Outermost first.
void collect(const std::exception_ptr& thrown, std::vector<Cause>& found) {
  if (!thrown || found.size() > most_causes) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    const auto* system = dynamic_cast<const std::system_error*>(&e);
    found.push_back({current_type_name(), triage::detail::what_of(e),
                     system != nullptr ? system->code() : std::error_code()});
    if (const auto* nesting = dynamic_cast<const std::nested_exception*>(&e)) {
      collect(nesting->nested_ptr(), found);
    }
  } catch (...) {
    found.push_back({current_type_name(), triage::detail::current_exception_text(), {}});
  }
}

}  // namespace

Error error_of(const std::exception_ptr& thrown, Attempt& attempt) {
  try {
    std::rethrow_exception(thrown);
  } catch (const AttemptStopped&) {
    throw;
  } catch (const BadResult& bad) {
    return bad.error();
  } catch (const Error& error) {
    return error;
  } catch (...) {
    std::vector<Cause> causes;
    collect(thrown, causes);
    const Cause outermost = causes.front();
    causes.erase(causes.begin());
    return attempt.fail({.text = outermost.text,
                         .exception_type = outermost.exception_type,
                         .code = outermost.code,
                         .causes = std::move(causes)});
  }
}

}  // namespace triage::inline v0_1::workflow::detail
