#include "checkpoint/seal.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "core/crc32.h"
#include "export/seal.h"

namespace dptrain::checkpoint {
bool check_seal(const Hdf5Bytes& file) {
  if (file.size() < exporting::kSealBytes) return false;
  const std::uint64_t end = file.size() - exporting::kSealBytes;
  std::array<std::byte, exporting::kSealBytes> found{};
  file.read(end, found);
  if (std::memcmp(found.data(), exporting::kSealWords.data(), exporting::kSealWords.size()) != 0) return false;

  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(end, std::uint64_t{1} << 20U)));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < end;) {
    const auto part = std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(end - at, piece.size())));
    file.read(at, part);
    crc = crc32(part, crc);
    at += part.size();
  }
  if (exporting::seal(crc) != found) file.damaged("its bytes are not those that were written");
  return true;
}

}  // namespace dptrain::checkpoint
