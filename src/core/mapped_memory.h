#pragma once

// Memory straight from the system, in huge pages where it has them. What a step works on is read with strides of many
// kilobytes and streamed through by the hundred megabytes: with small pages nearly each row is a walk through page
// tables, in a virtual machine through two of them, and the processor's prefetching ends at every page.

#include <cstddef>

namespace dptrain {

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

}  // namespace dptrain
