#pragma once

// WordSet: words and their places in it, in the order in which they were added; finding one costs a few nanoseconds and
// allocates nothing. Any thread may look while nobody adds.

#include <cstdint>
#include <string_view>
#include <vector>

#include "table/word_key.h"

namespace dptrain::data {

class WordSet {
 public:
  WordSet();

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  std::string_view word(std::int64_t place) const;

  /// Bytes that can be read from a word's first one on, whatever they hold.
  static constexpr std::size_t kReadable = table::WordKey::kReadable;
  /// The place of word[0, size), or -1.
  std::int32_t find(const char* word, std::size_t size) const {
    const auto key = table::WordKey::of(word, size);
    for (std::size_t at = key.hash() & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.place < 0) return -1;
      if (slot.key == key && (size <= table::WordKey::kShort || same(slot, word, size))) return slot.place;
    }
  }
  /// The place of word[0, size), a new one if need be.
  std::int32_t add(const char* word, std::size_t size);
  /// The same of a word behind which nothing can be read.
  std::int32_t add(std::string_view word);

 private:
  struct Slot {
    table::WordKey key{};
    std::int32_t place = -1;  // empty
  };

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
