#pragma once

// Keys of words in hash tables: a word of up to fifteen bytes is its own key, a longer one has a hash for a key and
// must be compared. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dptrain::table {

struct WordKey {
  std::uint64_t low = 0, high = 0;

  static constexpr std::size_t kShort = 15;     ///< bytes of a word that stands in the key itself
  static constexpr std::size_t kReadable = 16;  ///< bytes that must be readable from a word's first one on

  bool operator==(const WordKey&) const = default;

  static WordKey of(const char* word, std::size_t size) {
    if (size > kShort) return of_long(word, size);
    WordKey key;
    std::memcpy(&key.low, word, 8);
    std::memcpy(&key.high, word + 8, 8);
    // By table: lengths are hard to guess.
    return {key.low & kKept.low[size], (key.high & kKept.high[size]) | std::uint64_t{size} << 56};
  }
  std::size_t hash() const {
    // Words often differ in their last bytes alone, the highest ones here: what a product has above 64 bits knows them.
    const unsigned __int128 mixed =
        static_cast<unsigned __int128>(low ^ 0x9E3779B97F4A7C15) * (high ^ 0xD6E8FEB86659FD93);
    const unsigned __int128 again =
        static_cast<unsigned __int128>(low + static_cast<std::uint64_t>(mixed >> 64)) * 0xA0761D6478BD642F;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(again >> 64) ^ static_cast<std::uint64_t>(again) ^
                                    static_cast<std::uint64_t>(mixed));
  }

 private:
  static WordKey of_long(const char* word, std::size_t size);

  struct Kept {
    std::uint64_t low[kShort + 1], high[kShort + 1];
    constexpr Kept() : low{}, high{} {
      for (std::size_t size = 0; size <= kShort; ++size) {
        low[size] = size >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1;
        high[size] = size <= 8 ? 0 : (std::uint64_t{1} << (8 * (size - 8))) - 1;
      }
    }
  };
  static const Kept kKept;
};

}  // namespace dptrain::table
