#include "backend/emu/emu_memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::emu {

namespace {

constexpr std::size_t kAlignment = 256;  ///< of cudaMalloc
constexpr std::uint64_t kDefaultBytes = std::uint64_t{4} << 30;

std::uint64_t pretended_bytes() {
  const char* text = std::getenv("DPTRAIN_EMU_MEMORY");  // NOLINT(concurrency-mt-unsafe): nobody sets it meanwhile
  if (text == nullptr) return kDefaultBytes;
  char* end = nullptr;
  const std::uint64_t bytes = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') {
    throw Error(ErrorKind::kUsage, fmt::format("DPTRAIN_EMU_MEMORY must be a number of bytes, found '{}'", text));
  }
  return bytes;
}

std::uint64_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

void* Blocks::add(std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t length = std::max<std::size_t>(bytes, 1);
  if (posix_memalign(&memory, kAlignment, length) != 0) return nullptr;
  std::memset(memory, 0, length);
  const std::lock_guard lock(mutex_);
  blocks_.emplace(reinterpret_cast<std::uintptr_t>(memory), bytes);
  return memory;
}

std::size_t Blocks::remove(void* memory, const char* what) noexcept {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (block == blocks_.end()) {
    std::fprintf(stderr, "emulator: %s: %p was not given out, or was freed before\n", what, memory);
    std::abort();
  }
  const std::size_t bytes = block->second;
  blocks_.erase(block);
  std::free(memory);
  return bytes;
}

bool Blocks::contain(const void* memory, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::lock_guard lock(mutex_);
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return false;
  --block;
  return address + bytes <= block->first + block->second;
}

Blocks& device_blocks() {
  static Blocks blocks;
  return blocks;
}

Blocks& host_blocks() {
  static Blocks blocks;
  return blocks;
}

EmuMemory::EmuMemory() : total_(pretended_bytes()) {}

void* EmuMemory::allocate(std::size_t bytes, const std::string& device) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t free = total_ - used_;
  void* memory = rounded(bytes) <= free ? device_blocks().add(bytes) : nullptr;
  if (memory == nullptr) {
    throw Error(ErrorKind::kMemory,
                fmt::format("{}: out of memory: {} bytes asked for, {} of {} free", device, bytes, free, total_));
  }
  used_ += rounded(bytes);
  return memory;
}

void EmuMemory::free(void* memory) noexcept {
  const std::size_t bytes = device_blocks().remove(memory, "free");
  const std::lock_guard lock(mutex_);
  used_ -= rounded(bytes);
}

gpu::MemoryInfo EmuMemory::info() const {
  const std::lock_guard lock(mutex_);
  return {total_, total_ - used_};
}

}  // namespace dptrain::backend::emu
