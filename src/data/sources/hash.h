#pragma once

// FNV-1a, 64 bits (Fowler, Noll, Vo): detects changed data; not cryptographic. Pure functions.

#include <cstddef>
#include <cstdint>

namespace dptrain::data {

inline constexpr std::uint64_t kHashStart = 14695981039346656037ULL;

inline std::uint64_t hash_bytes(const void* data, std::size_t count, std::uint64_t hash = kHashStart) {
  const auto* const bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ bytes[i]) * 1099511628211ULL;
  return hash;
}

inline std::uint64_t hash_number(std::uint64_t number, std::uint64_t hash) {
  return hash_bytes(&number, sizeof number, hash);
}

}  // namespace dptrain::data
