#pragma once

// WordSet: words and their places in it, in the order in which they were added; finding one costs a few nanoseconds and
// allocates nothing. Any thread may look while nobody adds.

#include <cstdint>
#include <string_view>
#include <vector>

namespace dptrain::data {

class WordSet {
 public:
  WordSet();

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  std::string_view word(std::int64_t place) const;

  /// Bytes that can be read from a word's first one on, whatever they hold.
  static constexpr std::size_t kReadable = 16;
  /// The place of word[0, size), or -1.
  std::int32_t find(const char* word, std::size_t size) const {
    const Key key = key_of(word, size);
    for (std::size_t at = hash(key) & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.place < 0) return -1;
      if (slot.key.low == key.low && slot.key.high == key.high && (size <= kShort || same(slot, word, size)))
        return slot.place;
    }
  }
  /// The place of word[0, size), a new one if need be.
  std::int32_t add(const char* word, std::size_t size);
  /// The same of a word behind which nothing can be read.
  std::int32_t add(std::string_view word);

 private:
  static constexpr std::size_t kShort = 15;  // such words stand in the slot itself

  struct Key {
    std::uint64_t low = 0, high = 0;
  };
  struct Slot {
    Key key{};
    std::int32_t place = -1;  // empty
  };

  static Key key_of(const char* word, std::size_t size) {
    if (size > kShort) return long_key(word, size);
    Key key;
    __builtin_memcpy(&key.low, word, 8);
    __builtin_memcpy(&key.high, word + 8, 8);
    return {key.low & kKept.of[size].low, (key.high & kKept.of[size].high) | std::uint64_t{size} << 56};
  }
  struct Kept {
    Key of[kShort + 1];
    constexpr Kept() : of{} {
      for (std::size_t size = 0; size <= kShort; ++size)
        of[size] = {size >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1,
                    size <= 8 ? 0 : (std::uint64_t{1} << (8 * (size - 8))) - 1};
    }
  };
  static const Kept kKept;
  static Key long_key(const char* word, std::size_t size);
  static std::size_t hash(const Key& key) {
    const unsigned __int128 mixed =
        static_cast<unsigned __int128>(key.low ^ 0x9E3779B97F4A7C15) * (key.high ^ 0xD6E8FEB86659FD93);
    const unsigned __int128 again =
        static_cast<unsigned __int128>(key.low + static_cast<std::uint64_t>(mixed >> 64)) * 0xA0761D6478BD642F;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(again >> 64) ^ static_cast<std::uint64_t>(again) ^
                                    static_cast<std::uint64_t>(mixed));
  }
  bool same(const Slot& slot, const char* word, std::size_t size) const {
    return this->word(slot.place) == std::string_view(word, size);
  }
  void grow();

  std::vector<Slot> slots_;
  std::size_t mask_;
  std::vector<char> letters_;        // of all words, one behind the other
  std::vector<std::uint64_t> ends_;  // of each, in letters_
};

}  // namespace dptrain::data
