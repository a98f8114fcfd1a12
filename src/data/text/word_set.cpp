#include "data/text/word_set.h"

#include <limits>
#include <string>

#include "core/error.h"

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
  const auto key = table::WordKey::of(word, size);
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

}  // namespace dptrain::data
