#include "export/seal.h"

#include <cstring>

#include "core/format.h"

namespace dptrain::exporting {

std::array<std::byte, kSealBytes> seal(std::uint32_t crc) {
  const std::string text = fmt::format("{}{:08x}\n", kSealWords, crc);
  std::array<std::byte, kSealBytes> bytes{};
  std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

}  // namespace dptrain::exporting
