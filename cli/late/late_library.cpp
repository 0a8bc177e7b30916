// SPDX-License-Identifier: MIT
#include "late/late_library.hpp"

#include <stdexcept>

#include <dlfcn.h>

namespace triage::inline v0_1::cli {

void* LateLibrary::find(const char* function) const {
  void* const library = ::dlopen(name_, RTLD_LAZY | RTLD_LOCAL);  // Never closed.
  void* const found = library == nullptr ? nullptr : ::dlsym(library, function);
  if (found == nullptr) throw std::runtime_error(::dlerror());
  return found;
}

}  // namespace triage::inline v0_1::cli
