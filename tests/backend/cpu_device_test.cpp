#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <thread>

#include "backend/harness.h"
#include "core/error.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::test {
namespace {

TEST(CpuDevice, MemoryIsZeroAlignedAndSized) {
  const auto device = backend::make_cpu_device(1, 2, {});
  EXPECT_EQ(device->name(), "cpu:1");
  EXPECT_EQ(device->description().find("cpu:1 2 threads, "), 0U) << device->description();
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{100}, std::size_t{3} << 20}) {
    const auto buffer = device->allocate(bytes);
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 4096, 0U);
    for (std::size_t i = 0; i < bytes; i += 97) ASSERT_EQ(buffer->as<char>()[i], 0);
  }
}

TEST(CpuDevice, RejectsMoreMemoryThanAvailable) {
  const auto device = backend::make_cpu_device(0, 1, {});
  try {
    device->allocate(std::size_t{1} << 46);
    FAIL() << "64 TiB were granted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kMemory);
    EXPECT_NE(std::string(error.what()).find("cpu:0: 65536.00 GiB of memory requested"), std::string::npos)
        << error.what();
  }
}

TEST(CpuDevice, CountsSubnormalsAsZeroInAllItsThreads) {
  constexpr int kThreads = 3;
  std::array<bool, kThreads> zero{};
  std::thread([&] {
    backend::make_cpu_device(0, kThreads, {})->enter();
    std::atomic<int> arrived{0};
    kernels::cpu::parallel_slots(kThreads, [&](std::int64_t, int slot) {
      ++arrived;
      while (arrived < kThreads) std::this_thread::yield();  // so that each thread has a piece
      volatile float least = std::numeric_limits<float>::min(), half = 0.5F;
      zero[static_cast<std::size_t>(slot)] = least * half == 0.0F;
    });
  }).join();
  EXPECT_EQ(zero, (std::array{true, true, true}));
}

TEST(CpuDevice, HashDependsOnEveryBitAndPosition) {
  const auto device = backend::make_cpu_device(0, 2, {});
  device->enter();
  const auto stream = device->make_stream();
  std::vector<float> x(50000, 1.0F);
  const auto hash = [&](std::int64_t n) { return device->hash(x.data(), n, *stream); };
  const std::uint64_t before = hash(50000);
  EXPECT_EQ(before, hash(50000));
  EXPECT_NE(before, hash(49999));
  for (const std::size_t at : {0U, 16383U, 16384U, 49999U}) {
    x[at] = std::nextafter(1.0F, 2.0F);
    EXPECT_NE(before, hash(50000)) << at;
    x[at] = 1.0F;
  }
  x[3] = 0.0F;
  const std::uint64_t zero = hash(50000);
  x[3] = -0.0F;
  EXPECT_NE(zero, hash(50000));
  x[3] = 1.0F;
  x[7] = 2.0F;
  const std::uint64_t first = hash(50000);
  x[7] = 1.0F;
  x[11] = 2.0F;  // the same hash chain, another position
  EXPECT_NE(first, hash(50000));
}

TEST(CpuDevice, FillsAndAdds) {
  const auto device = backend::make_cpu_device(0, 1, {});
  const auto stream = device->make_stream();
  std::vector<float> x(7), y(7, 2.0F);
  device->fill(x.data(), 7, 1.5F, *stream);
  device->accumulate(y.data(), x.data(), DType::kF32, 7, *stream);
  EXPECT_EQ(y, std::vector<float>(7, 3.5F));
}

TEST(CpuDevice, ListsTheProcessor) {
  const auto all = backend::list_cpu();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id, "cpu");
  EXPECT_GE(all[0].cores, 1);
  EXPECT_GT(all[0].peak_gflops, 0.5);
  EXPECT_NE(all[0].details.find("GFLOP/s a core"), std::string::npos) << all[0].details;
}

TEST(CpuDevice, NamesALayerWithoutAnOp) {
  const auto device = backend::make_cpu_device(2, 1, {});
  struct Unknown {};
  nn::LayerType def;
  def.name = "Unknown";
  def.type = typeid(Unknown);
  plan::Plan plan;
  plan::Step step;
  step.name = "mystery";
  step.spec = config::Typed(def, std::make_shared<Unknown>());
  plan.steps.push_back(step);
  try {
    device->make_op({.plan = plan, .step = plan.steps[0]});
    FAIL() << "an op was made";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_STREQ(error.what(), "Unknown 'mystery': device cpu:2 has no operation for this layer");
  }
}

}  // namespace
}  // namespace dptrain::test
