#pragma once

// Memory in large pages, and prefetching.

#include <cstddef>
#include <vector>

namespace dptrain {

// Large pages for memory that is read here and there: with small ones nearly every look at tens of megabytes is a walk
// through page tables as well, in a virtual machine through two of them, and what is prefetched is dropped.

/// Bytes of one, on all processors that matter here.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// A wish about memory that nobody has written to yet; small pieces and systems without large pages stay as they are.
/// Any thread.
void wish_for_huge_pages(void* memory, std::size_t bytes) noexcept;

/// Room for so many elements, before the first is there.
template <class T>
void reserve_huge(std::vector<T>& vector, std::size_t count) {
  vector.reserve(count);
  wish_for_huge_pages(vector.data(), vector.capacity() * sizeof(T));
}

// Memory straight from the system, in huge pages where it has them. What a step works on is read with strides of many
// kilobytes and streamed through by the hundred megabytes: with small pages nearly each row is a walk through page
// tables, in a virtual machine through two of them, and the processor's prefetching ends at every page.

/// Zero-filled, touched by nobody. From kHugePage bytes on it begins at a multiple of them and is wished for in huge
/// pages; less begins on a page. Owns what it maps.
class MappedMemory {
 public:
  /// Throws std::system_error with what the system said.
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

/// The calling core fetches the cache line if it has not got it. GCC takes a function that does nothing else for one
/// without effects and leaves out calls and loops of it; the empty statement keeps them.
inline void prefetch(const void* memory) {
  __builtin_prefetch(memory);
  asm volatile("" : : "r"(memory));
}

}  // namespace dptrain
