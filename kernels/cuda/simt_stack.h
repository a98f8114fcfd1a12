#pragma once

// Switching between stacks, for simt_fibers.cpp: a few instructions on x86-64, ucontext elsewhere, and the calls that
// sanitizers require. Any OS thread may switch to a stack, one at a time.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__x86_64__) && !defined(DPTRAIN_SIMT_UCONTEXT)
#define DPTRAIN_SIMT_BARE 1
#else
#define DPTRAIN_SIMT_BARE 0
#include <ucontext.h>
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(DPTRAIN_SIMT_TSAN)
#include <sanitizer/tsan_interface.h>
#elif defined(__SANITIZE_THREAD__)
#error "compile simt_fibers.cpp with -fno-sanitize=thread -DDPTRAIN_SIMT_TSAN (cmake/Gpu.cmake)"
#endif

#if DPTRAIN_SIMT_BARE
// void dptrain_simt_switch(void** save, void* load): pushes the callee-saved registers to the stack and switches it.
extern "C" void dptrain_simt_switch(void** save, void* load);
asm(R"(
.text
.type dptrain_simt_switch, @function
dptrain_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size dptrain_simt_switch, .-dptrain_simt_switch
)");
#endif

namespace dptrain::simt {

/// A stack that runs or waits. Default constructed: the stack of an OS thread.
class Stack {
 public:
  static constexpr std::size_t kBytes = 128
                                        << 10;  ///< AddressSanitizer's frames are large; untouched pages cost nothing

  Stack() = default;
  /// Creates a stack on which `entry` starts at the first switch. `entry` must not return.
  explicit Stack(void (*entry)()) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = page + kBytes;
    memory_ = static_cast<char*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory_, page, PROT_NONE);  // an overflow faults
    bottom_ = memory_ + page;
    size_ = kBytes;
    begin(entry);
#if defined(DPTRAIN_SIMT_TSAN)
    fiber_ = __tsan_create_fiber(0);
#endif
  }
  ~Stack() {
    if (memory_ == nullptr) return;
#if defined(DPTRAIN_SIMT_TSAN)
    __tsan_destroy_fiber(fiber_);
#endif
    munmap(memory_, mapped_);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  /// Makes this the stack of the calling OS thread. Call it before switching to another stack.
  void enter_from_thread() {
#if defined(DPTRAIN_SIMT_TSAN)
    fiber_ = __tsan_get_current_fiber();
#endif
  }

  /// Continues at `to`; returns when another stack switches back here.
  void switch_to(Stack& to) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_, to.bottom_, to.size_);
#endif
    go_to(to);
    arrived();
  }

  /// Must be called first on a new stack.
  void arrived() {
#if defined(__SANITIZE_ADDRESS__)
    // Stores the bounds of the previous stack. There is no other way to get the bounds of an OS thread's stack.
    __sanitizer_finish_switch_fiber(fake_, &left_->bottom_, &left_->size_);
#endif
  }

 private:
  void go_to(Stack& to) {
#if defined(DPTRAIN_SIMT_TSAN)
    __tsan_switch_to_fiber(to.fiber_, __tsan_switch_to_fiber_no_sync);  // each fiber is a separate thread
#endif
    to.left_ = this;
#if DPTRAIN_SIMT_BARE
    dptrain_simt_switch(&pointer_, to.pointer_);
#else
    swapcontext(&context_, &to.context_);
#endif
  }

#if DPTRAIN_SIMT_BARE
  void begin(void (*entry)()) {
    // As if `entry` had been called: a return address, space for six registers below it, and the alignment of a call.
    auto* top = reinterpret_cast<std::uintptr_t*>(const_cast<char*>(static_cast<const char*>(bottom_)) + size_);
    top[-1] = 0;
    top[-2] = reinterpret_cast<std::uintptr_t>(entry);
    for (int i = 3; i <= 8; ++i) top[-i] = 0;
    pointer_ = top - 8;
  }
  void* pointer_ = nullptr;
#else
  void begin(void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = const_cast<void*>(bottom_);
    context_.uc_stack.ss_size = size_;
    context_.uc_link = nullptr;
    makecontext(&context_, entry, 0);
  }
  ucontext_t context_{};
#endif
  char* memory_ = nullptr;
  std::size_t mapped_ = 0;
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  Stack* left_ = nullptr;  ///< the stack that switched to this one
  [[maybe_unused]] void* fake_ = nullptr;
  [[maybe_unused]] void* fiber_ = nullptr;
};

/// For ThreadSanitizer: work before leave() happens before later calls of arrive() at the same place.
inline void leave([[maybe_unused]] void* place) {
#if defined(DPTRAIN_SIMT_TSAN)
  __tsan_release(place);
#endif
}
inline void arrive([[maybe_unused]] void* place) {
#if defined(DPTRAIN_SIMT_TSAN)
  __tsan_acquire(place);
#endif
}
#if defined(DPTRAIN_SIMT_TSAN)
inline constexpr bool kSeesRaces = true;
#else
inline constexpr bool kSeesRaces = false;
#endif

}  // namespace dptrain::simt
