#pragma once

// Vocabulary: the words of a category and their codes; all threads share it and change it under the reader's lock.
// WordTable: one thread's copy of the codes, with counts of words. A new word has no code until all words of earlier
// rows have one, so codes do not depend on the number of threads.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dptrain::data::table {

/// Key of a word in hash tables. A word of up to kShort bytes is its own key; the key of a longer one is a hash, so
/// words must be compared. Pure; any thread.
struct WordKey {
  std::uint64_t low = 0, high = 0;

  static constexpr std::size_t kShort = 15;     ///< maximum size of a word that is its own key
  static constexpr std::size_t kReadable = 16;  ///< bytes that must be readable from the beginning of a word

  bool operator==(const WordKey&) const = default;

  static WordKey from_word(const char* word, std::size_t size) {
    if (size > kShort) return from_long_word(word, size);
    WordKey key;
    std::memcpy(&key.low, word, 8);
    std::memcpy(&key.high, word + 8, 8);
    // A table avoids mispredicted branches on the length.
    return {key.low & kByteMasks.low[size], (key.high & kByteMasks.high[size]) | std::uint64_t{size} << 56};
  }
  std::size_t hash() const {
    // Words often differ only in their last bytes, here the highest ones, which affect the upper half of a product.
    const unsigned __int128 mixed =
        static_cast<unsigned __int128>(low ^ 0x9E3779B97F4A7C15) * (high ^ 0xD6E8FEB86659FD93);
    const unsigned __int128 again =
        static_cast<unsigned __int128>(low + static_cast<std::uint64_t>(mixed >> 64)) * 0xA0761D6478BD642F;
    return static_cast<std::size_t>(static_cast<std::uint64_t>(again >> 64) ^ static_cast<std::uint64_t>(again) ^
                                    static_cast<std::uint64_t>(mixed));
  }

 private:
  static WordKey from_long_word(const char* word, std::size_t size);

  struct ByteMasks {
    std::uint64_t low[kShort + 1], high[kShort + 1];
    constexpr ByteMasks() : low{}, high{} {
      for (std::size_t size = 0; size <= kShort; ++size) {
        low[size] = size >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * size)) - 1;
        high[size] = size <= 8 ? 0 : (std::uint64_t{1} << (8 * (size - 8))) - 1;
      }
    }
  };
  static const ByteMasks kByteMasks;
};

class Vocabulary {
 public:
  Vocabulary() = default;
  /// A closed vocabulary: other words have no code.
  explicit Vocabulary(std::vector<std::string> words);

  bool closed() const { return closed_; }
  const std::vector<std::string>& words() const { return words_; }
  /// Returns the word's code; adds a new word. Not for closed vocabularies.
  std::int32_t code(const std::string& word);

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>()(word); }
  };

  std::vector<std::string> words_;
  std::unordered_map<std::string, std::int32_t> codes_;
  bool closed_ = false;
};

class WordTable {
 public:
  /// Words of `missing` have the code Cell::kMissing.
  WordTable(const Vocabulary& vocabulary, std::span<const std::string> missing);

  /// Counts word[0, size) and returns its code. kReadable bytes from `word` on must be readable. The code of a new word
  /// is kNew - (its index in new_words()), or Cell::kUnknown if the vocabulary is closed.
  std::int32_t find(const char* word, std::size_t size) {
    const WordKey key = WordKey::from_word(word, size);
    for (std::size_t at = key.hash() & mask_;; at = (at + 1) & mask_) {
      Slot& slot = slots_[at];
      if (slot.key == key && slot.entry != 0 && (size <= WordKey::kShort || same(slot, word, size))) {
        ++slot.count;
        return slot.code;
      }
      if (slot.entry == 0) return closed_ ? unknown() : add(key, at, word, size);
    }
  }
  static constexpr std::int32_t kNew = -16;

  /// New words since the last assign_codes().
  const std::vector<std::string>& new_words() const { return new_words_; }
  /// Assigns codes to new_words().
  void assign_codes(std::span<const std::int32_t> codes);
  /// Adds how often each code was found.
  void add_counts(std::vector<std::int64_t>& counts) const;

 private:
  struct Slot {
    WordKey key{};
    std::int64_t count = 0;
    std::int32_t code = 0;
    std::uint32_t entry = 0;  // 0: empty; 1: a short word; else 2 + index in long_
  };

  bool same(const Slot& slot, const char* word, std::size_t size) const;
  std::int32_t unknown() const;
  std::int32_t add(const WordKey& key, std::size_t at, const char* word, std::size_t size);
  void put(const std::string& word, std::int32_t code);
  Slot& slot_of(std::string_view word);
  void grow();

  std::vector<Slot> slots_;
  std::size_t mask_ = 0, used_ = 0;
  std::vector<std::string> long_;
  std::vector<std::string> new_words_;
  bool closed_;
};

}  // namespace dptrain::data::table
