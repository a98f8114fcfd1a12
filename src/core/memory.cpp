#include "core/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <sys/mman.h>

#include "core/poisoning.h"

namespace dptrain {

void advise_huge_pages(void* memory, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory), end = begin + bytes;
  const std::uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage, last = end / kHugePage * kHugePage;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

MappedMemory::MappedMemory(std::size_t bytes)
    : bytes_(bytes),
      // Maps additional bytes for the alignment, which are never touched.
      mapped_(std::max<std::size_t>(bytes, 1) + (bytes >= kHugePage ? kHugePage : 0)),
      base_(::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      data_(base_) {
  if (base_ == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  if (bytes < kHugePage) return;
  const auto address = reinterpret_cast<std::uintptr_t>(base_);
  data_ = static_cast<char*>(base_) + (kHugePage - address % kHugePage) % kHugePage;
  advise_huge_pages(data_, bytes_);
}

MappedMemory::~MappedMemory() {
  set_poisoned(base_, mapped_, false);
  ::munmap(base_, mapped_);
}

}  // namespace dptrain
