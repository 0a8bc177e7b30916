// SPDX-License-Identifier: MIT
#pragma once
// A shared library that is loaded when one of its functions is first called. Most commands need
// neither libcurl nor libpq, whose own libraries take longer to load than most commands to run.

namespace triage::inline v0_1::cli {

// Thread-safety: all members may be called from several threads at once.
class LateLibrary {
 public:
  // name: that of the file, as the dynamic linker looks it up.
  explicit constexpr LateLibrary(const char* name) noexcept : name_(name) {}

  // Calls the library's function of this name, which has the type of `function`. Throws
  // std::runtime_error if there is no such library or function.
  template <auto function, class... Given>
  auto call(const char* name, Given... given) const {
    static const auto found = reinterpret_cast<decltype(function)>(find(name));
    return found(given...);
  }

 private:
  [[nodiscard]] void* find(const char* function) const;

  const char* name_;
};

}  // namespace triage::inline v0_1::cli

// In a function that stands for one of a library: calls that one, with these arguments.
#define TRIAGE_CALL_LATE(library, function, ...) \
  (library).call<&(function)>(#function __VA_OPT__(, ) __VA_ARGS__)
