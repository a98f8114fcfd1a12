#pragma once

// How often words occur in texts: what TextVectorization learns a vocabulary from. Each thread counts for itself; the
// sums do not depend on who counted what.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/tokens.h"
#include "data/text/word_set.h"

namespace dptrain::data {

class TextCounts {
 public:
  /// Refers to `tokens`.
  explicit TextCounts(const Tokens& tokens) : tokens_(&tokens) {}

  void add(std::string_view text);
  void add(const TextCounts& other);

  std::int64_t texts() const { return texts_; }
  struct Word {
    std::string text;
    std::int64_t texts = 0;  ///< that it occurs in
  };
  /// At most `most`, in Keras's order: the most frequent first, equally frequent ones from the last to the first by
  /// their bytes. Without '' and '[UNK]'.
  std::vector<Word> vocabulary(std::optional<std::int64_t> most) const;

 private:
  struct Count {
    std::int64_t times = 0, texts = 0, last = -1;  ///< `last`: the text that it was last seen in
  };
  const Tokens* tokens_;
  WordSet words_;
  std::vector<Count> counts_;
  std::int64_t texts_ = 0;
  Tokens::Scratch scratch_;
};

}  // namespace dptrain::data
