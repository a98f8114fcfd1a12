#include "checkpoint/seal.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "checkpoint/crc32.h"
#include "core/format.h"

namespace dptrain::checkpoint {
namespace {

constexpr std::string_view kWords = "\ndptrain crc32 ";

std::array<std::byte, kSealBytes> seal(std::uint32_t crc) {
  const std::string text = fmt::format("{}{:08x}\n", kWords, crc);
  std::array<std::byte, kSealBytes> bytes{};
  std::memcpy(bytes.data(), text.data(), bytes.size());
  return bytes;
}

}  // namespace

std::array<std::byte, kSealBytes> seal_of(std::span<const std::byte> bytes) { return seal(crc32(bytes)); }

bool check_seal(const Hdf5Bytes& file) {
  if (file.size() < kSealBytes) return false;
  const std::uint64_t end = file.size() - kSealBytes;
  std::array<std::byte, kSealBytes> found{};
  file.read(end, found);
  if (std::memcmp(found.data(), kWords.data(), kWords.size()) != 0) return false;

  std::vector<std::byte> piece(static_cast<std::size_t>(std::min<std::uint64_t>(end, std::uint64_t{1} << 20U)));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < end;) {
    const auto part = std::span(piece).first(static_cast<std::size_t>(std::min<std::uint64_t>(end - at, piece.size())));
    file.read(at, part);
    crc = crc32(part, crc);
    at += part.size();
  }
  if (seal(crc) != found) file.damaged("its bytes are not those that were written");
  return true;
}

}  // namespace dptrain::checkpoint
