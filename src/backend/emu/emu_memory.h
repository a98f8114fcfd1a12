#pragma once

// What memory the emulated GPUs have given out: device memory, counted against a pretended size, and page-locked host
// memory. Any thread may call.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::emu {

/// Blocks of memory by address.
class Blocks {
 public:
  /// Zero-filled, aligned to 256 bytes, as long as asked for to the byte. Null if the machine has no more.
  void* add(std::size_t bytes);
  /// Its size; aborts where no such block was given out, or it was freed before.
  std::size_t remove(void* memory, const char* what) noexcept;
  /// Whether [memory, memory + bytes) lies in one block.
  bool contain(const void* memory, std::size_t bytes) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;
};

/// Of all emulated devices together: they have one address space, as CUDA's have.
Blocks& device_blocks();
Blocks& host_blocks();

/// Pretends to be the memory of one device: DPTRAIN_EMU_MEMORY bytes, or 4 GiB.
class EmuMemory {
 public:
  EmuMemory();
  /// Throws Error{kMemory} saying what was asked for and what is free.
  void* allocate(std::size_t bytes, const std::string& device);
  void free(void* memory) noexcept;
  gpu::MemoryInfo info() const;

 private:
  mutable std::mutex mutex_;
  std::uint64_t total_, used_ = 0;
};

}  // namespace dptrain::backend::emu
