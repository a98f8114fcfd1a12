#include "kernels/cpu/processor.h"

#include "kernels/cpu/isa.h"

#include <unistd.h>

#include <algorithm>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dptrain::kernels::cpu {
namespace {

Processor asked_processor() {
  Processor processor;
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) != 0 && b == signature_INTEL_ebx && c == signature_INTEL_ecx &&
      d == signature_INTEL_edx)
    processor.vendor = Processor::Vendor::kIntel;
  constexpr unsigned kFeatures = 7, kAvx512Fp16 = 1U << 23;  // leaf, bit of edx
  processor.avx512_fp16 = __get_cpuid_count(kFeatures, 0, &a, &b, &c, &d) != 0 && (d & kAvx512Fp16) != 0;
#endif
  return processor;
}

}  // namespace

Processor this_processor() {
  static const Processor asked = asked_processor();  // once: virtual machines trap each cpuid
  constexpr int kAvx512Floats = 16, kAvx2Floats = 8;
  const int floats = isa_vector_floats();
  if (floats == kAvx512Floats) return asked;
  return {.avx2 = floats == kAvx2Floats};
}

int64_t bytes_found_in_caches() {
  constexpr int64_t kMin = 10 << 20, kMax = 20 << 20, kShare = 24;
  static const int64_t last_cache = sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 if unknown
  return std::clamp(last_cache / kShare, kMin, kMax);
}

}  // namespace dptrain::kernels::cpu
