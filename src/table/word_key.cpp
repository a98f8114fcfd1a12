#include "table/word_key.h"

namespace dptrain::table {

constexpr WordKey::Kept WordKey::kKept;

WordKey WordKey::of_long(const char* word, std::size_t size) {
  std::uint64_t hash = size * 0x9E3779B97F4A7C15;
  const auto mix = [&](const char* from) {
    std::uint64_t piece;
    std::memcpy(&piece, from, 8);
    hash = (hash ^ piece) * 0xD6E8FEB86659FD93;
    hash ^= hash >> 29;
  };
  for (std::size_t at = 0; at + 8 <= size; at += 8) mix(word + at);
  mix(word + size - 8);
  return {hash, (std::uint64_t{size} & 0xFFFFFFFF) | std::uint64_t{0xFF} << 56};
}

}  // namespace dptrain::table
