#pragma once

// The part of CUDA that the kernels use, for the host's compiler. With it the .cu files of this folder run unchanged on
// the CPU (the emulator, backend/emu), without CUDA headers. Included by launch.h; only kernels and backend/emu use it.
//
// A launch is queued on a Queue, or runs at once without one. The threads of a block are fibers (simt_fibers.cpp);
// the threads of a flat launch are iterations of a loop. Blocks run one after another. The process runs one launch at a
// time, because __shared__ variables are static.
//
// The emulator detects:
//
// - A barrier or shuffle that not all threads reach: it aborts and names the kernel and the line.
// - A missing barrier, also where only a shuffle separates two accesses: ThreadSanitizer reports a data race.
// - Threads of a flat launch that share an address: ThreadSanitizer reports it in the first launch of each shape.
// - An access outside of memory: AddressSanitizer aborts.
// - An access at a misaligned address: UndefinedBehaviorSanitizer aborts (in the preset `asan`).
// - Dynamic shared memory read before it is written: it contains NaN (0xFF bytes) at the start of every block.
// - Dependence on the order of blocks or threads: both orders are drawn from DPTRAIN_EMU_SEED.
//
// It cannot detect:
//
// - Races between blocks, and effects of weak memory order.
// - Reads of static shared memory that the previous block wrote.
// - Limits of the hardware (registers, static shared memory).

#include <math.h>  // NOLINT(modernize-deprecated-headers): kernels call isnan, not std::isnan

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) alignas(n)

namespace dptrain::simt {

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // NOLINT: as in CUDA
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
constexpr uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }

inline constexpr int warpSize = 32;

// Indices of the running thread. Set by run().
inline constinit thread_local uint3 threadIdx{0, 0, 0}, blockIdx{0, 0, 0};
inline constinit thread_local dim3 blockDim{0, 0, 0}, gridDim{0, 0, 0};

/// Runs queued launches later, in order. Launch::stream points to one.
class Queue {
 public:
  virtual ~Queue() = default;
  virtual void push(std::string_view name, std::function<void()> work) = 0;
};

struct Shape {
  const char* name = "";  ///< text of the kernel in the source
  dim3 grid, block;
  std::size_t shared = 0;        ///< bytes of dynamic shared memory
  bool flat = false;             ///< without barriers and shuffles
  const void* kernel = nullptr;  ///< the function
};

inline constexpr unsigned kMaxBlock = 1024, kMaxBlockZ = 64, kMaxGridYZ = 65535;

/// Throws std::runtime_error naming the kernel if CUDA would refuse the launch; else calls watch_launches()'s function.
void check(const Shape& shape);

/// For tests: calls `seen`, if not empty, for every launch, on the launching thread, before it is queued. Call this
/// only while no thread launches kernels.
void watch_launches(std::function<void(const Shape&)> seen);

/// Runs `thread` once per thread of the grid and waits for all of them.
void run(const Shape& shape, const std::function<void()>& thread);
/// For tests: number of fibers of this process, the threads of its largest block.
std::size_t count_fibers();

/// Captures arguments one by one: with a tuple, a thousand kernels take a third longer to compile.
template <class... P, class... A>
void launch(void* stream, Shape shape, void (*kernel)(P...), A&&... arguments) {
  shape.kernel = reinterpret_cast<const void*>(kernel);
  check(shape);
  auto work = [shape, kernel, ... values = static_cast<P>(std::forward<A>(arguments))] {
    run(shape, [&] { kernel(values...); });
  };
  if (stream == nullptr) {
    work();
  } else {
    static_cast<Queue*>(stream)->push(shape.name, std::move(work));
  }
}

/// Seed of every order that CUDA leaves undefined: DPTRAIN_EMU_SEED, or 1.
std::uint64_t seed();
void set_seed(std::uint64_t seed);

/// i -> (a * i + b) mod n with gcd(a, n) = 1: an order of 0..n-1, drawn from the seed, that needs no memory.
class Order {
 public:
  Order(std::uint64_t n, std::uint64_t draw);
  std::uint64_t operator[](std::uint64_t i) const { return n_ == 0 ? 0 : (i * a_ + b_) % n_; }

 private:
  std::uint64_t n_, a_, b_;
};

using CallSite = std::source_location;

/// The value of one lane in a shuffle.
struct alignas(16) Slot {
  unsigned char bytes[16];
};

struct Warp {
  Slot slots[2][warpSize];  ///< the two buffers alternate
  unsigned lanes = 0;       ///< number of threads; the last warp of a block may be short
};

/// State of the running thread for shuffles.
struct Thread {
  Warp* warp = nullptr;
  unsigned lane = 0, turn = 0;
};

inline constinit thread_local Thread* self = nullptr;  ///< null outside of kernels and in flat launches

/// Barriers. Both abort and name the kernel if not all threads reach them.
void sync_block(const CallSite& where);
void sync_warp(const CallSite& where);
[[noreturn]] void fail(const std::string& message);
void* dynamic_shared();

inline Thread& require_thread(const CallSite& where) {
  if (self == nullptr) sync_warp(where);  // reports the error and aborts
  return *self;
}

/// Stores this lane's value and waits for the other lanes of the warp, without ordering other accesses to memory.
void publish(const Slot& value, const CallSite& where);
/// The value that a lane stored in the last publish().
Slot published(unsigned lane);

template <class T>
void publish_value(const T& value, const CallSite& where) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Slot));
  Slot slot{};
  std::memcpy(slot.bytes, &value, sizeof value);
  publish(slot, where);
}

template <class T>
T read_lane(const T& value, unsigned lane, const CallSite& where) {
  publish_value(value, where);
  if (lane >= self->warp->lanes)
    fail("a shuffle reads lane " + std::to_string(lane) + ", which the warp does not have");
  const Slot slot = published(lane);
  T taken;
  std::memcpy(&taken, slot.bytes, sizeof taken);
  return taken;
}

inline void check_mask(unsigned mask) {
  if (mask != 0xFFFFFFFFU) fail("warp operations take the full mask, 0xffffffff");
}

inline void __syncthreads(const CallSite& where = CallSite::current()) { sync_block(where); }
inline void __syncwarp(unsigned mask = 0xFFFFFFFFU, const CallSite& where = CallSite::current()) {
  check_mask(mask);
  sync_warp(where);
}

// Shuffles within groups of `width` lanes, as in CUDA.
template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize, const CallSite& where = CallSite::current()) {
  check_mask(mask);
  const unsigned lane = require_thread(where).lane, group = static_cast<unsigned>(width);
  return read_lane(value, (lane & ~(group - 1)) + (static_cast<unsigned>(source) & (group - 1)), where);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize, const CallSite& where = CallSite::current()) {
  check_mask(mask);
  const unsigned lane = require_thread(where).lane, group = static_cast<unsigned>(width);
  const unsigned source = lane ^ static_cast<unsigned>(bits);
  return read_lane(value, source / group > lane / group ? lane : source, where);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize,
                   const CallSite& where = CallSite::current()) {
  check_mask(mask);
  const unsigned lane = require_thread(where).lane, group = static_cast<unsigned>(width);
  return read_lane(value, lane % group + by < group ? lane + by : lane, where);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize,
                 const CallSite& where = CallSite::current()) {
  check_mask(mask);
  const unsigned lane = require_thread(where).lane, group = static_cast<unsigned>(width);
  return read_lane(value, lane % group >= by ? lane - by : lane, where);
}
inline unsigned __ballot_sync(unsigned mask, bool vote, const CallSite& where = CallSite::current()) {
  check_mask(mask);
  publish_value(vote, where);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < self->warp->lanes; ++lane)
    votes |= static_cast<unsigned>(published(lane).bytes[0] != 0) << lane;
  return votes;
}
inline bool __any_sync(unsigned mask, bool vote, const CallSite& where = CallSite::current()) {
  return __ballot_sync(mask, vote, where) != 0;
}
inline bool __all_sync(unsigned mask, bool vote, const CallSite& where = CallSite::current()) {
  return __ballot_sync(mask, !vote, where) == 0;
}

// Atomics: integers only, since sums of floats would depend on the order.

template <class T>
concept AtomicInteger = std::is_same_v<T, int> || std::is_same_v<T, unsigned> || std::is_same_v<T, unsigned long long>;

template <AtomicInteger T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
}
template <AtomicInteger T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
}
template <AtomicInteger T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
}
template <AtomicInteger T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  T before = __atomic_load_n(at, __ATOMIC_RELAXED);
  while (before < value &&
         !__atomic_compare_exchange_n(at, &before, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  return before;
}

inline float rsqrtf(float x) { return 1.0F / sqrtf(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>((std::uint64_t{a} * b) >> 32); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
// Rounded separately, never contracted into a fused multiply-add.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }

template <class T>
T __ldg(const T* at) {
  return *at;
}
template <class T>
constexpr T min(T a, std::type_identity_t<T> b) {
  return b < a ? b : a;
}
template <class T>
constexpr T max(T a, std::type_identity_t<T> b) {
  return a < b ? b : a;
}

}  // namespace dptrain::simt
