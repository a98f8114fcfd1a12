#include "kernels/cpu/isa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kernels/cpu/processor.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

TEST(Isa, EveryTargetOfThisMachineIsTested) {
  std::set<std::string> names;
  test::on_every_target([&] {
    names.insert(isa_name());
    const std::string target = hwy::TargetName(hwy::SupportedTargets() & -hwy::SupportedTargets());
    EXPECT_EQ(isa_name(), target == "AVX3" ? "AVX-512" : target);
  });
  EXPECT_EQ(names.size(), hwy::SupportedAndGeneratedTargets().size());
  EXPECT_TRUE(names.contains(isa_name())) << isa_name();  // contains the default choice
}

TEST(Isa, ChoosesTheWidestVectors) {
  const int chosen = isa_vector_floats();
  test::on_every_target([&] { EXPECT_LE(isa_vector_floats(), chosen); });
}

TEST(Isa, RespectsALimit) {
  limit_isa(IsaLimit::kAvx2);
  EXPECT_LE(isa_vector_floats(), 8);
  EXPECT_FALSE(this_processor().avx512_fp16);
  EXPECT_EQ(this_processor().vendor, Processor::Vendor::kOther)
      << "rules would differ between machines with the same limit";
  EXPECT_LE(isa_vector_floats(), 8) << "this_processor() keeps the limit";
  test::on_every_target([] { EXPECT_LE(isa_vector_floats(), 8); });
  int narrowest = 8;  // 4, or the compiler's baseline
  test::on_every_target([&] { narrowest = std::min(narrowest, isa_vector_floats()); });
  limit_isa(IsaLimit::kSse4);
  EXPECT_EQ(isa_vector_floats(), narrowest);
  hwy::DisableTargets(0);  // removes the limit
}

TEST(Isa, PeakIsPlausible) {
  const double peak = measure_fma_peak_gflops();
  EXPECT_GT(peak, 0.01);    // slower than any machine, sanitizers and emulation included
  EXPECT_LT(peak, 2000.0);  // one thread: more means that the compiler removed the loop
}

TEST(Isa, PeakOfSeveralThreadsIsPlausible) {
  set_thread_count(2);
  const double peak = measure_fma_peak_gflops_of_all_threads();
  set_thread_count(1);
  EXPECT_GT(peak, 0.01);
  EXPECT_LT(peak, 4000.0);
}

}  // namespace
}  // namespace dptrain::kernels::cpu
