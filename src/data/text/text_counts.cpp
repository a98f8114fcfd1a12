#include "data/text/text_counts.h"

#include <algorithm>
#include <numeric>

namespace dptrain::data {

void TextCounts::add(std::string_view text) {
  tokens_->each(text, scratch_, [this](const char* word, std::size_t size) {
    const auto place = static_cast<std::size_t>(words_.add(word, size));
    if (place == counts_.size()) counts_.emplace_back();
    Count& count = counts_[place];
    ++count.times;
    if (count.last != texts_) count.last = texts_, ++count.texts;
    return true;
  });
  ++texts_;
}

void TextCounts::add(const TextCounts& other) {
  for (std::int64_t i = 0; i < other.words_.size(); ++i) {
    const auto place = static_cast<std::size_t>(words_.add(other.words_.word(i)));
    if (place == counts_.size()) counts_.emplace_back();
    counts_[place].times += other.counts_[static_cast<std::size_t>(i)].times;
    counts_[place].texts += other.counts_[static_cast<std::size_t>(i)].texts;
  }
  texts_ += other.texts_;
  for (Count& count : counts_) count.last = -1;
}

std::vector<TextCounts::Word> TextCounts::vocabulary(std::optional<std::int64_t> most) const {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < words_.size(); ++i)
    if (!words_.word(i).empty() && words_.word(i) != "[UNK]") order.push_back(i);
  std::ranges::sort(order, [this](std::int64_t a, std::int64_t b) {
    const std::int64_t of_a = counts_[static_cast<std::size_t>(a)].times;
    const std::int64_t of_b = counts_[static_cast<std::size_t>(b)].times;
    return of_a != of_b ? of_a > of_b : words_.word(a) > words_.word(b);
  });
  if (most && std::cmp_less(*most, order.size())) order.resize(static_cast<std::size_t>(*most));
  std::vector<Word> vocabulary;
  for (const std::int64_t i : order)
    vocabulary.push_back({std::string(words_.word(i)), counts_[static_cast<std::size_t>(i)].texts});
  return vocabulary;
}

}  // namespace dptrain::data
