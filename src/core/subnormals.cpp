#include "kernels/cpu/subnormals.h"

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dptrain::kernels::cpu {

void flush_subnormals() noexcept {
#if defined(__x86_64__)
  constexpr unsigned kFlushToZero = 1U << 15, kZerosAreRead = 1U << 6;  // FTZ and DAZ of MXCSR
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kZerosAreRead);
#elif defined(__aarch64__)
  std::uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | std::uint64_t{1} << 24));  // FZ: read and written
#endif
}

}  // namespace dptrain::kernels::cpu
