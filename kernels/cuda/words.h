#pragma once

// Copies use the widest words that sizes and addresses allow. Only for .cu files.

#include <initializer_list>

#include "core/dtype.h"
#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

/// Calls f(Word{}) with the widest word, 2 to 16 bytes, that divides all `sizes` (in elements of `type`) and the
/// alignment of all `pointers`. Word{} is zero.
template <class F>
void with_word(DType type, std::initializer_list<std::int64_t> sizes, std::initializer_list<const void*> pointers,
               const F& f) {
  std::uint64_t together = 0;
  for (const std::int64_t size : sizes) together |= static_cast<std::uint64_t>(size) * size_of(type);
  for (const void* pointer : pointers) together |= reinterpret_cast<std::uintptr_t>(pointer);
  if (together % 16 == 0) return f(Raw<std::uint64_t, 2>{});
  if (together % 8 == 0) return f(Raw<std::uint64_t, 1>{});
  if (together % 4 == 0) return f(Raw<std::uint32_t, 1>{});
  return f(Raw<std::uint16_t, 1>{});
}

/// Number of words in `elements`.
template <class Word>
std::int64_t in_words(DType type, std::int64_t elements) {
  return elements * static_cast<std::int64_t>(size_of(type)) / static_cast<std::int64_t>(sizeof(Word));
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
