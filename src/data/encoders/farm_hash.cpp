#include "data/encoders/farm_hash.h"

#include <farmhash.h>

#include <bit>
#include <cstring>

namespace dptrain::data {
namespace {

struct SipState {
  std::uint64_t a, b, c, d;

  void round() {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
  void take(std::uint64_t piece) {
    d ^= piece;
    round(), round();
    a ^= piece;
  }
};

}  // namespace

std::uint64_t farm_fingerprint(std::string_view word) { return util::Fingerprint64(word.data(), word.size()); }

std::uint64_t sip_hash(std::string_view word, std::uint64_t low, std::uint64_t high) {
  SipState state{low ^ 0x736f6d6570736575, high ^ 0x646f72616e646f6d, low ^ 0x6c7967656e657261,
                 high ^ 0x7465646279746573};
  const std::size_t whole = word.size() / 8 * 8;
  std::uint64_t piece = 0;
  for (std::size_t at = 0; at < whole; at += 8) {
    std::memcpy(&piece, word.data() + at, 8);
    state.take(piece);
  }
  piece = 0;
  std::memcpy(&piece, word.data() + whole, word.size() - whole);
  state.take(piece | static_cast<std::uint64_t>(word.size() & 0xFF) << 56);
  state.c ^= 0xFF;
  for (int i = 0; i < 4; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace dptrain::data
