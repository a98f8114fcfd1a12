#include "core/crc32.h"

#include <array>

#include <zlib.h>

namespace dptrain {
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc) noexcept {
  if (bytes.empty()) return crc;  // for a null pointer crc32_z() returns 0
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

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
