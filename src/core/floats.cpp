#include "core/floats.h"

#include <cstdint>

namespace dptrain {
namespace {

void set_flushing(bool on) noexcept {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 1U << 15, kDenormalsAreZeros = 1U << 6;  // bits of MXCSR: results, operands
  constexpr unsigned kBits = kFlushToZero | kDenormalsAreZeros;
  const unsigned control = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(on ? control | kBits : control & ~kBits);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlush = std::uint64_t{1} << 24;  // FZ of FPCR: results and operands
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(on ? control | kFlush : control & ~kFlush));
#endif
}

}  // namespace

void flush_subnormals() noexcept { set_flushing(true); }
void keep_subnormals() noexcept { set_flushing(false); }

}  // namespace dptrain
