#include "data/table/words.h"

#include <algorithm>

#include "data/table/table.h"

namespace dptrain::data::table {

constexpr WordKey::ByteMasks WordKey::kByteMasks;

WordKey WordKey::from_long_word(const char* word, std::size_t size) {
  std::uint64_t hash = size * 0x9E3779B97F4A7C15;
  const auto mix = [&](const char* from) {
    std::uint64_t piece;
    std::memcpy(&piece, from, 8);
    hash = (hash ^ piece) * 0xD6E8FEB86659FD93;
    hash ^= hash >> 29;
  };
  for (std::size_t at = 0; at + 8 <= size; at += 8) mix(word + at);
  mix(word + size - 8);
  return {hash, (std::uint64_t{size} & 0xFFFFFFFF) | std::uint64_t{0xFF} << 56};
}

namespace {

constexpr std::size_t kFirstSlots = 32;
constexpr std::size_t kLargeTable = 16'384;

/// A copy with readable bytes after it, for WordKey::from_word().
std::string padded(std::string_view word) {
  std::string copy(word);
  copy.resize(word.size() + WordKey::kReadable);
  return copy;
}

}  // namespace

Vocabulary::Vocabulary(std::vector<std::string> words) : words_(std::move(words)), closed_(true) {
  for (std::size_t i = 0; i < words_.size(); ++i) codes_.emplace(words_[i], static_cast<std::int32_t>(i));
}

std::int32_t Vocabulary::code(const std::string& word) {
  const auto [at, fresh] = codes_.emplace(word, static_cast<std::int32_t>(words_.size()));
  if (fresh) words_.push_back(word);
  return at->second;
}

WordTable::WordTable(const Vocabulary& vocabulary, std::span<const std::string> missing)
    : slots_(kFirstSlots), mask_(kFirstSlots - 1), closed_(vocabulary.closed()) {
  for (const std::string& word : missing) put(word, Cell::kMissing);
  if (!closed_) return;  // other threads may be adding words
  for (std::size_t i = 0; i < vocabulary.words().size(); ++i) put(vocabulary.words()[i], static_cast<std::int32_t>(i));
}

bool WordTable::same(const Slot& slot, const char* word, std::size_t size) const {
  return slot.entry >= 2 && long_[slot.entry - 2] == std::string_view(word, size);
}

std::int32_t WordTable::unknown() const { return Cell::kUnknown; }

std::int32_t WordTable::add(const WordKey& key, std::size_t at, const char* word, std::size_t size) {
  const std::int32_t code = kNew - static_cast<std::int32_t>(new_words_.size());
  new_words_.emplace_back(word, size);
  std::uint32_t entry = 1;
  if (size > WordKey::kShort) {
    long_.push_back(new_words_.back());
    entry = static_cast<std::uint32_t>(long_.size() + 1);
  }
  slots_[at] = {key, 1, code, entry};
  // A small table stays at most a quarter full for fewer collisions.
  if (++used_ * (slots_.size() < kLargeTable ? 4 : 2) > slots_.size()) grow();
  return code;
}

/// Adds a word with a given code; does nothing if the table has the word.
void WordTable::put(const std::string& word, std::int32_t code) {
  const bool closed = closed_;
  closed_ = false;
  const std::string copy = padded(word);
  if (find(copy.data(), word.size()) <= kNew) {
    slot_of(word).code = code;
    new_words_.clear();
  }
  slot_of(word).count = 0;
  closed_ = closed;
}

WordTable::Slot& WordTable::slot_of(std::string_view word) {
  const std::string copy = padded(word);
  const WordKey key = WordKey::from_word(copy.data(), word.size());
  std::size_t at = key.hash() & mask_;
  for (;; at = (at + 1) & mask_) {
    Slot& slot = slots_[at];
    if (slot.key == key && slot.entry != 0 && (word.size() <= WordKey::kShort || same(slot, copy.data(), word.size())))
      return slot;
  }
}

void WordTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.entry == 0) continue;
    std::size_t at = slot.key.hash() & mask_;
    while (slots_[at].entry != 0) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
}

void WordTable::assign_codes(std::span<const std::int32_t> codes) {
  for (std::size_t i = 0; i < codes.size(); ++i) slot_of(new_words_[i]).code = codes[i];
  new_words_.clear();
}

void WordTable::add_counts(std::vector<std::int64_t>& counts) const {
  for (const Slot& slot : slots_)
    if (slot.entry != 0 && slot.code >= 0) counts[static_cast<std::size_t>(slot.code)] += slot.count;
}

}  // namespace dptrain::data::table
