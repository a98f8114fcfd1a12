#pragma once

// Tokens splits a text like Keras's TextVectorization: normalization, splitting, n-grams. One pass over the bytes,
// without allocations once the scratch is large enough.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "data/table/words.h"

namespace dptrain::data {

/// Words and their indices, in the order of insertion. Lookups do not allocate. Any thread may look up words while no
/// thread adds one.
class WordSet {
 public:
  WordSet();

  std::int64_t size() const { return static_cast<std::int64_t>(ends_.size()); }
  std::string_view word(std::int64_t place) const;

  /// Bytes that must be readable from the start of a word.
  static constexpr std::size_t kReadable = table::WordKey::kReadable;
  /// Index of word[0, size), or -1.
  std::int32_t find(const char* word, std::size_t size) const {
    const auto key = table::WordKey::from_word(word, size);
    for (std::size_t at = key.hash() & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.place < 0) return -1;
      if (slot.key == key && (size <= table::WordKey::kShort || same(slot, word, size))) return slot.place;
    }
  }
  /// Index of word[0, size). Adds a new word.
  std::int32_t add(const char* word, std::size_t size);
  /// As above, for a word without readable bytes after its end.
  std::int32_t add(std::string_view word);

 private:
  struct Slot {
    table::WordKey key{};
    std::int32_t place = -1;  // -1: empty
  };

  bool same(const Slot& slot, const char* word, std::size_t size) const {
    return this->word(slot.place) == std::string_view(word, size);
  }
  void grow();

  std::vector<Slot> slots_;
  std::size_t mask_;
  std::vector<char> letters_;        // all words, concatenated
  std::vector<std::uint64_t> ends_;  // end offset of each word in letters_
};

enum class TextStandardize { kLowerAndStripPunctuation, kLower, kStripPunctuation, kNone };
enum class TextSplit { kWhitespace, kCharacter, kNone };

/// Throws Error{kData} with the byte offset if the text is not UTF-8 (RFC 3629).
void check_utf8(std::string_view text);

/// Tokenizer. Immutable; any thread, each with its own Scratch.
class Tokens {
 public:
  struct Scratch {
    std::vector<char> letters;
    std::vector<std::pair<std::size_t, std::size_t>> words;  // begin and end in letters
  };

  /// `widths` of n-grams; empty: single words.
  Tokens(TextStandardize standardize, TextSplit split, std::vector<std::int64_t> widths);

  /// Calls take(const char* word, std::size_t size) -> bool for each token until it returns false: all n-grams of the
  /// first width, then of the next. WordSet::kReadable bytes from `word` are readable, and valid until the next call.
  /// Throws as check_utf8().
  template <class Take>
  void each(std::string_view text, Scratch& scratch, Take&& take) const {
    check_utf8(text);
    // Worst case: single characters, each followed by a space.
    const std::size_t room = 2 * text.size() + 2 + WordSet::kReadable;
    if (scratch.letters.size() < room) scratch.letters.resize(room);
    char* const letters = scratch.letters.data();
    if (widths_.empty()) return words(text, letters, 0, take);
    scratch.words.clear();
    words(text, letters, 1, [&](const char* word, std::size_t size) {
      const auto begin = static_cast<std::size_t>(word - letters);
      scratch.words.emplace_back(begin, begin + size);
      return true;
    });
    // One space separates consecutive words, so an n-gram is contiguous.
    for (const std::int64_t width : widths_)
      for (std::size_t first = 0, last = static_cast<std::size_t>(width) - 1; last < scratch.words.size();
           ++first, ++last) {
        const std::size_t begin = scratch.words[first].first;
        if (!take(letters + begin, scratch.words[last].second - begin)) return;
      }
  }

 private:
  /// Writes the words to `out`, each followed by `gap` spaces, and calls `take` for each until it returns false.
  template <class Take>
  void words(std::string_view text, char* out, std::size_t gap, Take&& take) const {
    char* begin = out;
    const auto end_word = [&] {
      const bool more = take(static_cast<const char*>(begin), static_cast<std::size_t>(out - begin));
      for (std::size_t i = 0; i < gap; ++i) *out++ = ' ';
      begin = out;
      return more;
    };
    for (const char letter : text) {
      const Letter& becomes = letters_[static_cast<unsigned char>(letter)];
      if (split_ == TextSplit::kWhitespace && becomes.ends_word) {
        if (out != begin && !end_word()) return;
        continue;
      }
      // The first byte of a character ends the previous one.
      if (split_ == TextSplit::kCharacter && becomes.begins && out != begin && !end_word()) return;
      *out = becomes.as;
      out += becomes.kept;
    }
    if (out != begin || split_ == TextSplit::kNone) end_word();
  }

  struct Letter {
    char as = 0;
    std::uint8_t kept = 1;
    bool ends_word = false;
    bool begins = true;  ///< first byte of a character
  };
  std::array<Letter, 256> letters_{};
  TextSplit split_;
  std::vector<std::int64_t> widths_;
};

}  // namespace dptrain::data
