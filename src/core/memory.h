#pragma once

// Memory in large pages, and prefetching.

#include <cstddef>
#include <vector>

namespace dptrain {

// Large pages for memory with scattered reads. With small pages nearly every read from tens of megabytes also walks the
// page tables, in a virtual machine two of them, and prefetches are dropped.

/// Bytes of a huge page on all processors that dptrain targets.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Requests huge pages for memory that has not been written to yet. Has no effect on small pieces and on systems
/// without huge pages. Any thread.
void advise_huge_pages(void* memory, std::size_t bytes) noexcept;

/// Reserves `count` elements in huge pages. Call it before the first element is added.
template <class T>
void reserve_huge(std::vector<T>& vector, std::size_t count) {
  vector.reserve(count);
  advise_huge_pages(vector.data(), vector.capacity() * sizeof(T));
}

// Memory mapped from the system, in huge pages if available. Steps read with strides of many kilobytes: with small
// pages nearly each row walks the page tables, and hardware prefetching stops at every page boundary.

/// Zero-filled and not yet touched. Memory of kHugePage bytes or more begins at a multiple of kHugePage and requests
/// huge pages; smaller memory begins at a page. Owns the mapping.
class MappedMemory {
 public:
  /// Throws std::system_error with the system's error code.
  explicit MappedMemory(std::size_t bytes);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }

 private:
  const std::size_t bytes_, mapped_;
  void* const base_;
  void* data_;
};

/// Loads the cache line into the calling core's cache. GCC treats a function that only prefetches as free of effects
/// and removes calls and loops of it; the empty statement prevents that.
inline void prefetch(const void* memory) {
  __builtin_prefetch(memory);
  asm volatile("" : : "r"(memory));
}

}  // namespace dptrain
