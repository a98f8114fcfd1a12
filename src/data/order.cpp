#include <algorithm>
#include <array>
#include <numeric>

#include "core/memory.h"
#include "core/random.h"
#include "data/loader.h"

namespace dptrain::data {
namespace {

RandomStream stream_of(std::uint64_t seed, std::int64_t epoch) {
  return {seed, static_cast<std::uint32_t>(Purpose::kShuffle), static_cast<std::uint64_t>(epoch)};
}

/// Fisher-Yates shuffle from the front. Draws some steps ahead to prefetch: with millions of samples, most accesses
/// miss the caches.
void shuffle_all(std::vector<std::int64_t>& order, RandomStream random) {
  constexpr std::size_t kAhead = 64;
  std::array<std::size_t, kAhead> drawn;
  for (std::size_t first = 0; first + 1 < order.size(); first += kAhead) {
    const std::size_t count = std::min(kAhead, order.size() - 1 - first);
    for (std::size_t k = 0; k < count; ++k) {
      drawn[k] = first + k + random.below(order.size() - first - k);
      prefetch(&order[drawn[k]]);
    }
    for (std::size_t k = 0; k < count; ++k) std::swap(order[first + k], order[drawn[k]]);
  }
}

/// As tf.data's shuffle(buffer): each position draws from a buffer, and the next sample fills the gap. A sample is at
/// most buffer - 1 positions earlier than before, but may be any number later.
void shuffle_buffer(std::vector<std::int64_t>& order, std::size_t buffer, RandomStream random) {
  std::vector<std::int64_t> held(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(buffer));
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::int64_t& drawn = held[random.below(held.size())];
    const std::int64_t sample = drawn;
    if (i + buffer < order.size()) {
      drawn = order[i + buffer];
    } else {
      drawn = held.back();
      held.pop_back();
    }
    order[i] = sample;
  }
}

}  // namespace

std::vector<std::int64_t> Loader::order(std::int64_t samples, const Shuffle& shuffle, std::uint64_t seed,
                                        std::int64_t epoch) {
  std::vector<std::int64_t> order;
  reserve_huge(order, static_cast<std::size_t>(samples));
  order.resize(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0);
  if (shuffle.kind == Shuffle::Kind::kNone || samples < 2) return order;
  if (shuffle.kind == Shuffle::Kind::kFull || shuffle.buffer >= samples) {
    shuffle_all(order, stream_of(seed, epoch));
  } else if (shuffle.buffer > 1) {
    shuffle_buffer(order, static_cast<std::size_t>(shuffle.buffer), stream_of(seed, epoch));
  }
  return order;
}

}  // namespace dptrain::data
