#pragma once

// Large pages for memory that is read here and there: with small ones nearly every look at tens of megabytes is a walk
// through page tables as well, in a virtual machine through two of them, and what is prefetched is dropped.

#include <cstddef>
#include <vector>

namespace dptrain {

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

}  // namespace dptrain
