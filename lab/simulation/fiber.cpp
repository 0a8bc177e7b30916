// SPDX-License-Identifier: MIT
#include "lab/simulation/fiber.hpp"

#include <cxxabi.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <cstdint>
#include <new>
#include <utility>

// The sanitizers must be told of every stack switch.
#if defined(__has_feature)
#define TRIAGE_LAB_HAS(feature) __has_feature(feature)
#else
#define TRIAGE_LAB_HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || TRIAGE_LAB_HAS(address_sanitizer)
#define TRIAGE_LAB_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__) || TRIAGE_LAB_HAS(thread_sanitizer)
#define TRIAGE_LAB_TSAN 1
#include <sanitizer/tsan_interface.h>
#endif

namespace triage::inline v0_1::lab::detail {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// The exceptions currently being handled. They belong to the thread, so they are switched with the
// stack; otherwise a handler on one stack would end another's exception. Source: Itanium C++ ABI,
// exception handling, 2.2.2.
struct Handling {
  void* caught = nullptr;
  unsigned int uncaught = 0;
};
Handling& handling() { return *reinterpret_cast<Handling*>(abi::__cxa_get_globals()); }

}  // namespace

StackPool::StackPool(std::size_t bytes) {
  const std::size_t page = page_size();
  bytes_ = (bytes + page - 1) / page * page;
}

StackPool::~StackPool() {
  for (std::byte* stack : all_) ::munmap(stack - page_size(), bytes_ + page_size());
}

std::byte* StackPool::take() {
  if (!free_.empty()) {
    std::byte* stack = free_.back();
    free_.pop_back();
#ifdef TRIAGE_LAB_ASAN
    // An abandoned body has left its redzones there.
    ASAN_UNPOISON_MEMORY_REGION(stack, bytes_);
#endif
    return stack;
  }
  // The page below is never mapped, so that an overflow crashes.
  const std::size_t page = page_size();
  void* memory = ::mmap(nullptr, bytes_ + page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::mprotect(memory, page, PROT_NONE);
  auto* stack = static_cast<std::byte*>(memory) + page;
  all_.push_back(stack);
  free_.reserve(all_.size());  // So that returning a stack never throws.
  return stack;
}

struct Fiber::State {
  StackPool& stacks;
  std::function<void()> body;
  std::byte* stack = nullptr;
  ::ucontext_t inside{};
  ::ucontext_t outside{};
  Handling resting{};  // Of the side that is not running.
  bool done = false;
#ifdef TRIAGE_LAB_ASAN
  void* fake_stack = nullptr;
  const void* outer_bottom = nullptr;
  std::size_t outer_size = 0;
#endif
#ifdef TRIAGE_LAB_TSAN
  void* self = __tsan_create_fiber(0);
  void* outer = nullptr;
#endif

  void enter() {
#ifdef TRIAGE_LAB_ASAN
    __sanitizer_finish_switch_fiber(nullptr, &outer_bottom, &outer_size);
#endif
    body();
    done = true;
    std::swap(handling(), resting);
#ifdef TRIAGE_LAB_ASAN
    __sanitizer_start_switch_fiber(nullptr, outer_bottom, outer_size);
#endif
#ifdef TRIAGE_LAB_TSAN
    __tsan_switch_to_fiber(outer, 0);
#endif
    ::swapcontext(&inside, &outside);
  }
  // makecontext only passes ints.
  static void start(unsigned int high, unsigned int low) {
    const auto address = (std::uintptr_t{high} << 32U) | low;
    reinterpret_cast<State*>(address)->enter();
  }
};

Fiber::Fiber(StackPool& stacks, std::function<void()> body)
    : state_(new State{.stacks = stacks, .body = std::move(body)}) {
  state_->stack = stacks.take();
  ::getcontext(&state_->inside);
  state_->inside.uc_stack.ss_sp = state_->stack;
  state_->inside.uc_stack.ss_size = stacks.bytes();
  state_->inside.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(state_.get());
  ::makecontext(&state_->inside, reinterpret_cast<void (*)()>(&State::start), 2,
                static_cast<unsigned int>(address >> 32U), static_cast<unsigned int>(address));
}

Fiber::~Fiber() {
#ifdef TRIAGE_LAB_TSAN
  __tsan_destroy_fiber(state_->self);
#endif
  state_->stacks.give_back(state_->stack);
}

void Fiber::resume() {
  std::swap(handling(), state_->resting);
#ifdef TRIAGE_LAB_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, state_->stack, state_->stacks.bytes());
#endif
#ifdef TRIAGE_LAB_TSAN
  state_->outer = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(state_->self, 0);
#endif
  ::swapcontext(&state_->outside, &state_->inside);
#ifdef TRIAGE_LAB_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  std::swap(handling(), state_->resting);
#ifdef TRIAGE_LAB_ASAN
  __sanitizer_start_switch_fiber(&state_->fake_stack, state_->outer_bottom, state_->outer_size);
#endif
#ifdef TRIAGE_LAB_TSAN
  __tsan_switch_to_fiber(state_->outer, 0);
#endif
  ::swapcontext(&state_->inside, &state_->outside);
#ifdef TRIAGE_LAB_ASAN
  __sanitizer_finish_switch_fiber(state_->fake_stack, &state_->outer_bottom, &state_->outer_size);
#endif
}

bool Fiber::done() const noexcept { return state_->done; }

}  // namespace triage::inline v0_1::lab::detail
