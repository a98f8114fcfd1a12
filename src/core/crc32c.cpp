#include "core/crc32c.h"

#include <array>

namespace dptrain {
namespace {

constexpr std::array<std::uint32_t, 256> kCrc32cOfByte = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78U : 0U);
    table[byte] = rest;
  }
  return table;
}();

}  // namespace

std::uint32_t crc32c(std::string_view bytes) noexcept {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = kCrc32cOfByte[(crc ^ static_cast<std::uint8_t>(c)) & 0xFFU] ^ (crc >> 8);
  return ~crc;
}

}  // namespace dptrain
