// The emulator: supported features of kernels, and rejected errors.

#include "kernels/cuda/simt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/lanes.h"
#include "kernels/cuda/reduce.h"
#include "support.h"

namespace dptrain::kernels::emu {
namespace {

const Launch kNow{};  ///< no stream: runs at once

/// Restores the seed.
struct Seed {
  explicit Seed(std::uint64_t seed) { set_seed(seed); }
  ~Seed() { set_seed(before); }
  Seed(const Seed&) = delete;
  Seed& operator=(const Seed&) = delete;
  std::uint64_t before = seed();
};

// --- Indices ---

__global__ void write_place(unsigned* out) {
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1 + block * 1000 + thread;
}

void check_places(const std::vector<unsigned>& out, unsigned threads) {
  for (unsigned i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], 1 + i / threads * 1000 + i % threads) << i;
}

TEST(Simt, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<unsigned> out(30 * 210, 0);
  DPTRAIN_LAUNCH(kNow, write_place, dim3(5, 3, 2), dim3(7, 5, 6), out.data());
  check_places(out, 210);
}

TEST(Simt, EveryThreadOfAFlatLaunchRunsOnce) {
  std::vector<unsigned> out(30 * 210, 0);
  DPTRAIN_LAUNCH_FLAT(kNow, write_place, dim3(5, 3, 2), dim3(7, 5, 6), out.data());
  check_places(out, 210);
}

__global__ void note_order(int* order, int* count) { order[(*count)++] = static_cast<int>(blockIdx.x); }

std::vector<int> block_order(std::uint64_t with_seed) {
  const Seed seed(with_seed);
  std::vector<int> order(37, -1);
  int count = 0;
  DPTRAIN_LAUNCH_FLAT(kNow, note_order, 37, 1, order.data(), &count);
  return order;
}

TEST(Simt, TheSeedDrawsTheOrderOfBlocks) {
  std::set<std::vector<int>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> order = block_order(seed);
    seen.insert(order);
    std::sort(order.begin(), order.end());
    std::vector<int> all(37);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all);
  }
  EXPECT_GT(seen.size(), 10U);
}

TEST(Simt, AnOrderIsAPermutation) {
  for (const std::uint64_t n : {1, 2, 3, 4, 6, 32, 97, 210, 1024, 65536}) {
    for (std::uint64_t draw = 0; draw < 5; ++draw) {
      const Order order(n, draw);
      std::vector<bool> seen(n, false);
      for (std::uint64_t i = 0; i < n; ++i) seen.at(order[i]) = true;
      EXPECT_EQ(std::count(seen.begin(), seen.end(), true), static_cast<std::ptrdiff_t>(n));
    }
  }
}

// --- Shared memory and barriers ---

__global__ void reverse(const int* in, int* out) {
  __shared__ int kept[256];
  for (int turn = 0; turn < 3; ++turn) {
    kept[threadIdx.x] = in[threadIdx.x] + turn;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
  }
}

TEST(Simt, BarriersOrderSharedMemory) {
  std::vector<int> in(256), out(3 * 256);
  std::iota(in.begin(), in.end(), 0);
  DPTRAIN_LAUNCH(kNow, reverse, 3, 256, in.data(), out.data());
  for (int i = 0; i < 3 * 256; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], 255 - i % 256 + 2);
}

__global__ void read_unwritten(float* out) {
  DPTRAIN_DYNAMIC_SHARED(float, kept);
  out[blockIdx.x * blockDim.x + threadIdx.x] = kept[threadIdx.x];
  __syncthreads();
  kept[threadIdx.x] = 1;
}

TEST(Simt, DynamicSharedMemoryIsNaNInEveryBlock) {
  std::vector<float> out(4 * 32, 0);
  DPTRAIN_LAUNCH_SHARED(kNow, read_unwritten, 4, 32, 32 * sizeof(float), out.data());
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float x) { return std::isnan(x); }));
}

// --- Warps ---

__global__ void shuffle(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  int* mine = out + lane * 8;
  mine[0] = __shfl_xor_sync(kFullMask, lane, 5);
  mine[1] = __shfl_down_sync(kFullMask, lane, 3);
  mine[2] = __shfl_up_sync(kFullMask, lane, 3);
  mine[3] = __shfl_sync(kFullMask, lane, 7);
  mine[4] = __shfl_sync(kFullMask, lane, 3, 8);
  mine[5] = __shfl_down_sync(kFullMask, lane, 3, 8);
  mine[6] = static_cast<int>(__ballot_sync(kFullMask, lane % 3 == 0));
  mine[7] =
      __any_sync(kFullMask, lane == 9) + 2 * __all_sync(kFullMask, lane < 32) + 4 * __all_sync(kFullMask, lane != 9);
}

TEST(Simt, Shuffles) {
  std::vector<int> out(32 * 8);
  DPTRAIN_LAUNCH(kNow, shuffle, 1, 32, out.data());
  int ballot = 0;
  for (int lane = 0; lane < 32; lane += 3) ballot |= static_cast<int>(1U << lane);
  for (int lane = 0; lane < 32; ++lane) {
    const int* mine = &out[static_cast<std::size_t>(lane) * 8];
    EXPECT_EQ(mine[0], lane ^ 5);
    EXPECT_EQ(mine[1], lane + 3 < 32 ? lane + 3 : lane);
    EXPECT_EQ(mine[2], lane >= 3 ? lane - 3 : lane);
    EXPECT_EQ(mine[3], 7);
    EXPECT_EQ(mine[4], lane / 8 * 8 + 3);
    EXPECT_EQ(mine[5], lane % 8 + 3 < 8 ? lane + 3 : lane);
    EXPECT_EQ(mine[6], ballot);
    EXPECT_EQ(mine[7], 3);
  }
}

template <class T>
__global__ void reduce(const T* in, T* sums, float* largest) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (int turn = 0; turn < 2; ++turn) sums[i] = block_sum(in[i]);
  if (largest != nullptr) largest[i] = block_max(static_cast<float>(in[i]));
}

template <class T>
void check_sums(unsigned threads) {
  const unsigned blocks = 3;
  std::vector<T> in(std::size_t{blocks} * threads), sums(in.size());
  std::vector<float> largest(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<T>((i * 37) % 101);  // sums exact in float
  DPTRAIN_LAUNCH(kNow, reduce<T>, blocks, threads, in.data(), sums.data(), largest.data());
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto first = in.begin() + static_cast<std::ptrdiff_t>(i / threads * threads), last = first + threads;
    ASSERT_EQ(sums[i], std::accumulate(first, last, T{0})) << threads << " threads, " << i;
    ASSERT_EQ(largest[i], static_cast<float>(*std::max_element(first, last)));
  }
}

TEST(Simt, BlocksReduce) {
  for (const unsigned threads : {32U, 96U, 256U, 1024U}) {
    check_sums<float>(threads);
    check_sums<double>(threads);
  }
}

TEST(Simt, SumsDoNotDependOnTheSeed) {
  std::vector<float> in(3 * 256), first(in.size()), sums(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = std::sin(static_cast<float>(i)) * 1e3F;
  DPTRAIN_LAUNCH(kNow, reduce<float>, 3, 256, in.data(), first.data(), nullptr);
  for (std::uint64_t number = 0; number < 10; ++number) {
    const Seed seed(number);
    DPTRAIN_LAUNCH(kNow, reduce<float>, 3, 256, in.data(), sums.data(), nullptr);
    EXPECT_EQ(sums, first);
  }
}

TEST(Simt, TheLargestOfNaNIsNaN) {
  std::vector<float> in(64, 1), sums(64), largest(64);
  in[17] = NAN;
  DPTRAIN_LAUNCH(kNow, reduce<float>, 1, 64, in.data(), sums.data(), largest.data());
  EXPECT_TRUE(std::isnan(largest[0]) && std::isnan(largest[63]));
}

__global__ void count(int* counter, unsigned* bits, int* largest) {
  atomicAdd(counter, 2);
  atomicOr(bits, 1U << (threadIdx.x % 32));
  atomicMax(largest, static_cast<int>(threadIdx.x));
}

TEST(Simt, Atomics) {
  int counter = 0, largest = -1;
  unsigned bits = 0;
  DPTRAIN_LAUNCH_FLAT(kNow, count, 5, 100, &counter, &bits, &largest);
  EXPECT_EQ(counter, 1000);
  EXPECT_EQ(bits, 0xFFFFFFFFU);
  EXPECT_EQ(largest, 99);
}

// --- Launches ---

__global__ void take(double from_int, const float* pointer, float* out) {
  *out = *pointer + static_cast<float>(from_int);
}

TEST(Simt, CopiesAndConvertsArgumentsAtTheLaunch) {
  test::ListQueue queue;
  Launch at;
  at.stream = static_cast<simt::Queue*>(&queue);
  float in = 1, out = 0;
  int number = 3;
  DPTRAIN_LAUNCH_FLAT(at, take, 1, 1, number, &in, &out);
  number = 100;
  EXPECT_EQ(out, 0);
  ASSERT_EQ(queue.names, std::vector<std::string>{"take"});
  queue.run();
  EXPECT_EQ(out, 4);
}

TEST(Simt, SerializesLaunchesOfSeveralThreads) {
  std::vector<std::vector<int>> outs(4, std::vector<int>(3 * 256));
  std::vector<int> in(256, 5);
  std::vector<std::thread> threads;
  for (auto& out : outs) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) DPTRAIN_LAUNCH(kNow, reverse, 3, 256, in.data(), out.data());
    });
  }
  for (std::thread& member : threads) member.join();
  for (const auto& out : outs) EXPECT_EQ(out, std::vector<int>(3 * 256, 7));
}

TEST(Simt, HostThreadsShareFibers) {
  std::vector<int> in(256, 5), out(256);
  const auto launch = [&] { DPTRAIN_LAUNCH(kNow, reverse, 1, 256, in.data(), out.data()); };
  launch();
  const std::size_t before = simt::count_fibers();
  EXPECT_GE(before, 256U);
  for (int i = 0; i < 3; ++i) {
    std::ranges::fill(out, 0);
    std::thread(launch).join();
    EXPECT_EQ(out, std::vector<int>(256, 7));
  }
  launch();  // continues fibers that another thread has run
  EXPECT_EQ(simt::count_fibers(), before);
}

__global__ void nothing(int) {}

template <class F>
std::string refusal(F&& f) {
  try {
    f();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(Simt, LimitsOfALaunch) {
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH(kNow, nothing, 1, 1025, 0); }),
            "kernel nothing: a block has 1 to 1024 threads, found 1025 x 1 x 1");
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH(kNow, nothing, 1, dim3(1, 1, 65), 0); }),
            "kernel nothing: a block has 1 to 1024 threads, found 1 x 1 x 65");
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH(kNow, nothing, dim3(1, 65536), 1, 0); }),
            "kernel nothing: a grid has 1 to 2^31-1 x 65535 x 65535 blocks, found 1 x 65536 x 1");
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH_FLAT(kNow, nothing, 0, 32, 0); }),
            "kernel nothing: a grid has 1 to 2^31-1 x 65535 x 65535 blocks, found 0 x 1 x 1");
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH_SHARED(kNow, nothing, 1, 32, 101377, 0); }),
            "kernel nothing: dynamic shared memory is at most 99 KiB, found 101377 bytes");
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH_SHARED(kNow, nothing, 3, 1024, 101376, 0); }), "");
  EXPECT_EQ(refusal([] { DPTRAIN_LAUNCH_FLAT(kNow, nothing, dim3(1, 65535), 1, 0); }), "");
}

// --- What aborts ---

__global__ void return_early(int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
}
__global__ void diverge() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void shuffle_in_half(int* out) {
  if (threadIdx.x < 16) *out = __shfl_xor_sync(kFullMask, 1, 1);
}
__global__ void shuffle_with_mask(int* out) { *out = __shfl_xor_sync(0xFFFFU, 1, 1); }
__global__ void shuffle_from_missing_lane(int* out) { *out = __shfl_xor_sync(kFullMask, 1, 16); }

void launch_divergent() {
  DPTRAIN_LAUNCH(kNow, (+[](int) { diverge(); }), 1, 64, 0);
}

TEST(SimtDeathTest, DivergentBarriers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int out = 0;
  EXPECT_DEATH(DPTRAIN_LAUNCH(kNow, return_early, 2, 64, 40),
               "kernel return_early: divergent barrier: 40 of 64 threads wait at .*simt_test.cpp:[0-9]+");
  EXPECT_DEATH(launch_divergent(), "divergent barrier: some threads wait at .*simt_test.cpp:[0-9]+, others at");
  EXPECT_DEATH(DPTRAIN_LAUNCH(kNow, shuffle_in_half, 1, 32, &out),
               "kernel shuffle_in_half: divergent barrier: 16 of 32");
}

TEST(SimtDeathTest, BarrierInAFlatLaunch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int out = 0;
  EXPECT_DEATH(DPTRAIN_LAUNCH_FLAT(kNow, return_early, 1, 32, 32), "kernel return_early: a thread of a flat launch");
  EXPECT_DEATH(DPTRAIN_LAUNCH_FLAT(kNow, shuffle_in_half, 1, 32, &out), "kernel shuffle_in_half: a thread of a flat");
  EXPECT_DEATH(__syncthreads(), "outside of a kernel");
}

TEST(SimtDeathTest, WrongShuffles) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int out = 0;
  EXPECT_DEATH(DPTRAIN_LAUNCH(kNow, shuffle_with_mask, 1, 32, &out), "the full mask");
  EXPECT_DEATH(DPTRAIN_LAUNCH(kNow, shuffle_from_missing_lane, 1, 16, &out),
               "a shuffle reads lane (1[6-9]|2[0-9]|3[01]), which the warp does");
}

#ifdef __SANITIZE_ADDRESS__
__global__ void write_past_end(int n) {
  DPTRAIN_DYNAMIC_SHARED(float, kept);
  kept[n] = 1;
}

TEST(SimtDeathTest, PastDynamicSharedMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(DPTRAIN_LAUNCH_SHARED(kNow, write_past_end, 1, 32, 36, 9), "heap-buffer-overflow");
}
#endif

#ifdef DPTRAIN_CHECKS_ALIGNMENT
__global__ void copy_four(const float* x, float* y) { store<4>(load<4>(x), y); }

TEST(SimtDeathTest, MisalignedAccess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  alignas(16) float x[8] = {}, y[8] = {};
  DPTRAIN_LAUNCH_FLAT(kNow, copy_four, 1, 1, x + 4, y + 4);
  EXPECT_DEATH(DPTRAIN_LAUNCH_FLAT(kNow, copy_four, 1, 1, x + 1, y), "misaligned address .* 16 byte alignment");
  EXPECT_DEATH(DPTRAIN_LAUNCH_FLAT(kNow, copy_four, 1, 1, x, y + 2), "misaligned address .* 16 byte alignment");
  // In the kernels themselves, whose hosts choose vectors by alignment: a float at an odd address.
  EXPECT_DEATH(fill(kNow, 1.0F, reinterpret_cast<float*>(reinterpret_cast<char*>(x) + 1), 4), "misaligned address");
}
#endif

}  // namespace
}  // namespace dptrain::kernels::emu
