// SPDX-License-Identifier: MIT
#include "support/scarce_memory.hpp"

#include <cstdlib>
#include <new>

namespace {

int allowed = -1;  // How many allocations succeed; negative: all.
bool only_one_fails = false;
bool has_run_out = false;

}  // namespace

namespace triage::test {

ScarceMemory::ScarceMemory(int allocations, bool only_one) noexcept {
  allowed = allocations;
  only_one_fails = only_one;
  has_run_out = false;
}
ScarceMemory::~ScarceMemory() { allowed = -1; }
bool ScarceMemory::ran_out() noexcept { return has_run_out; }

}  // namespace triage::test

void* operator new(std::size_t size) {
  if (allowed == 0) {
    has_run_out = true;
    if (only_one_fails) allowed = -1;
    throw std::bad_alloc();
  }
  if (allowed > 0) --allowed;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
