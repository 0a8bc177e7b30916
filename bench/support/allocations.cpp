// SPDX-License-Identifier: MIT
#include "support/allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> live_bytes{0};

void* counted(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  allocations.fetch_add(1, std::memory_order_relaxed);
  live_bytes.fetch_add(::malloc_usable_size(memory), std::memory_order_relaxed);
  return memory;
}

void discount(void* memory) noexcept {
  live_bytes.fetch_sub(::malloc_usable_size(memory), std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

triage::bench::Heap triage::bench::heap() noexcept {
  return {allocations.load(std::memory_order_relaxed), live_bytes.load(std::memory_order_relaxed)};
}

void* operator new(std::size_t size) { return counted(std::malloc(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (size + align - 1) / align * align));
}
void operator delete(void* memory) noexcept { discount(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { discount(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { discount(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  discount(memory);
}
