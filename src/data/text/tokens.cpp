#include "data/text/tokens.h"

#include <cstring>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

/// Those of Keras's DEFAULT_STRIP_REGEX.
constexpr std::string_view kPunctuation = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";
/// Those of tf.strings.split, in ASCII alone.
constexpr std::string_view kSpaces = " \t\n\v\f\r";

}  // namespace

void check_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight;
    if (at + 8 <= text.size()) {
      std::memcpy(&eight, text.data() + at, 8);
      if ((eight & 0x8080808080808080) == 0) {
        at += 8;
        continue;
      }
    }
    const std::size_t length = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : utf8_length(text.substr(at));
    if (length == 0)
      throw Error(ErrorKind::kData,
                  fmt::format("byte {} of the text, 0x{:02x}, is not UTF-8; convert it, as `iconv -t UTF-8` does", at,
                              static_cast<unsigned char>(text[at])));
    at += length;
  }
}

Tokens::Tokens(TextStandardize standardize, TextSplit split, std::vector<std::int64_t> widths)
    : split_(split), widths_(std::move(widths)) {
  const bool both = standardize == TextStandardize::kLowerAndStripPunctuation;
  for (std::size_t i = 0; i < letters_.size(); ++i) {
    const char letter = static_cast<char>(i);
    Letter& becomes = letters_[i];
    const bool capital = letter >= 'A' && letter <= 'Z';  // Keras's lower() knows ASCII alone
    becomes.as = capital && (both || standardize == TextStandardize::kLower) ? static_cast<char>(letter + 32) : letter;
    const bool strips = both || standardize == TextStandardize::kStripPunctuation;
    becomes.kept = strips && kPunctuation.find(letter) != std::string_view::npos ? 0 : 1;
    becomes.ends_word = kSpaces.find(letter) != std::string_view::npos;
    becomes.begins = (i & 0xC0) != 0x80;
  }
}

}  // namespace dptrain::data
