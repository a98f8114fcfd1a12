// The emulator's limits, seeds and orders (execution: simt_fibers.cpp).

#include "kernels/cuda/launch.h"

#include <cstdlib>
#include <numeric>
#include <stdexcept>

namespace dptrain::simt {

namespace {

std::uint64_t first_seed() {
  const char* text = std::getenv("DPTRAIN_EMU_SEED");  // NOLINT(concurrency-mt-unsafe): read before main
  return text == nullptr ? 1 : std::strtoull(text, nullptr, 10);
}

std::uint64_t the_seed = first_seed();
std::function<void(const Shape&)> watcher;

/// The finalizer of MurmurHash3.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
  x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
  return x ^ (x >> 33);
}

std::string text_of(const dim3& size) {
  return std::to_string(size.x) + " x " + std::to_string(size.y) + " x " + std::to_string(size.z);
}

}  // namespace

std::uint64_t seed() { return __atomic_load_n(&the_seed, __ATOMIC_RELAXED); }
void set_seed(std::uint64_t seed) { __atomic_store_n(&the_seed, seed, __ATOMIC_RELAXED); }

Order::Order(std::uint64_t n, std::uint64_t draw) : n_(n), a_(1), b_(0) {
  if (n < 2) return;
  const std::uint64_t bits = mix(draw + seed() * 0x9E3779B97F4A7C15U);
  // Below 2^20, so that i * a does not overflow: grids have fewer than 2^40 blocks.
  a_ = (bits & 0xFFFFF) % n;
  while (std::gcd(a_, n) != 1) a_ = a_ + 1 == n ? 1 : a_ + 1;
  b_ = (bits >> 20) % n;
}

void watch_launches(std::function<void(const Shape&)> seen) { watcher = std::move(seen); }

void check(const Shape& shape) {
  const auto refuse = [&](const std::string& what) {
    throw std::runtime_error("kernel " + std::string(shape.name) + ": " + what);
  };
  const dim3& block = shape.block;
  const dim3& grid = shape.grid;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || block.x > kMaxBlock || block.y > kMaxBlock || block.z > kMaxBlockZ || threads > kMaxBlock) {
    refuse("a block has 1 to 1024 threads, found " + text_of(block));
  }
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7FFFFFFFU || grid.y > kMaxGridYZ || grid.z > kMaxGridYZ) {
    refuse("a grid has 1 to 2^31-1 x 65535 x 65535 blocks, found " + text_of(grid));
  }
  constexpr std::int64_t kMaxShared = kernels::DPTRAIN_BACKEND::kMaxSharedBytes;
  if (static_cast<std::int64_t>(shape.shared) > kMaxShared) {
    refuse("dynamic shared memory is at most " + std::to_string(kMaxShared >> 10) + " KiB, found " +
           std::to_string(shape.shared) + " bytes");
  }
  if (watcher) watcher(shape);
}

}  // namespace dptrain::simt
