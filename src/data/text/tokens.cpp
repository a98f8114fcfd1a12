#include "data/text/tokens.h"

#include <cstring>
#include <limits>
#include <string>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain::data {
namespace {

constexpr std::size_t kFirstSlots = 1024;

}  // namespace

WordSet::WordSet() : slots_(kFirstSlots), mask_(kFirstSlots - 1) {}

std::string_view WordSet::word(std::int64_t place) const {
  const auto at = static_cast<std::size_t>(place);
  const std::uint64_t begin = at == 0 ? 0 : ends_[at - 1];
  return {letters_.data() + begin, static_cast<std::size_t>(ends_[at] - begin)};
}

std::int32_t WordSet::add(const char* word, std::size_t size) {
  const auto key = table::WordKey::from_word(word, size);
  std::size_t at = key.hash() & mask_;
  for (; slots_[at].place >= 0; at = (at + 1) & mask_) {
    const Slot& slot = slots_[at];
    if (slot.key == key && (size <= table::WordKey::kShort || same(slot, word, size))) return slot.place;
  }
  if (ends_.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 2)
    throw Error(ErrorKind::kData, "the texts have more than a billion different words");
  const auto place = static_cast<std::int32_t>(ends_.size());
  letters_.insert(letters_.end(), word, word + size);
  ends_.push_back(letters_.size());
  slots_[at] = {key, place};
  if (ends_.size() * 2 > slots_.size()) grow();
  return place;
}

std::int32_t WordSet::add(std::string_view word) {
  std::string copy(word);
  copy.resize(word.size() + kReadable);
  return add(copy.data(), word.size());
}

void WordSet::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.place < 0) continue;
    std::size_t at = slot.key.hash() & mask_;
    while (slots_[at].place >= 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

namespace {

/// Keras's DEFAULT_STRIP_REGEX.
constexpr std::string_view kPunctuation = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'";
/// The ASCII spaces of tf.strings.split.
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
    const bool capital = letter >= 'A' && letter <= 'Z';  // as in Keras: ASCII only
    becomes.as = capital && (both || standardize == TextStandardize::kLower) ? static_cast<char>(letter + 32) : letter;
    const bool strips = both || standardize == TextStandardize::kStripPunctuation;
    becomes.kept = strips && kPunctuation.find(letter) != std::string_view::npos ? 0 : 1;
    becomes.ends_word = kSpaces.find(letter) != std::string_view::npos;
    becomes.begins = (i & 0xC0) != 0x80;
  }
}

}  // namespace dptrain::data
