#pragma once

// Tokens of a text, as Keras's TextVectorization makes them: standardised, split, put together to n-grams. One pass
// over the bytes; nothing is allocated once the scratch has grown.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "table/words.h"

namespace dptrain::data {

// WordSet: words and their places in it, in the order in which they were added; finding one costs a few nanoseconds and
// allocates nothing. Any thread may look while nobody adds.

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

enum class TextStandardize { kLowerAndStripPunctuation, kLower, kStripPunctuation, kNone };
enum class TextSplit { kWhitespace, kCharacter, kNone };

/// Throws Error{kData} with the byte where the text is not UTF-8 (RFC 3629). TextVectorization itself looks at bytes.
void check_utf8(std::string_view text);

/// Immutable; any thread, with a scratch of its own.
class Tokens {
 public:
  struct Scratch {
    std::vector<char> letters;
    std::vector<std::pair<std::size_t, std::size_t>> words;  // begin and end in letters
  };

  /// `widths` of n-grams; none: the words themselves.
  Tokens(TextStandardize standardize, TextSplit split, std::vector<std::int64_t> widths);

  /// take(const char* word, std::size_t size) -> bool for each token until it says false: all of the first width, then
  /// all of the second. WordSet::kReadable bytes from `word` on can be read; they last until the next call. Throws as
  /// check_utf8().
  template <class Take>
  void each(std::string_view text, Scratch& scratch, Take&& take) const {
    check_utf8(text);
    // Characters with a space behind each need the most.
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
    // Words stand in a row with one space between them, so an n-gram does, too.
    for (const std::int64_t width : widths_)
      for (std::size_t first = 0, last = static_cast<std::size_t>(width) - 1; last < scratch.words.size();
           ++first, ++last) {
        const std::size_t begin = scratch.words[first].first;
        if (!take(letters + begin, scratch.words[last].second - begin)) return;
      }
  }

 private:
  /// With `gap` spaces behind each.
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
      // A character ends where the next one begins.
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
    bool begins = true;  ///< a character
  };
  std::array<Letter, 256> letters_{};
  TextSplit split_;
  std::vector<std::int64_t> widths_;
};

}  // namespace dptrain::data
