#include "data/sources/file_stamp.h"

#include <algorithm>
#include <array>
#include <fstream>

namespace dptrain::data {

std::uint64_t hash_ends(const std::string& path, std::uint64_t hash) {
  constexpr std::int64_t kBytes = 4096;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return hash_number(0, hash);
  const auto size = static_cast<std::int64_t>(file.tellg());
  hash = hash_number(static_cast<std::uint64_t>(size), hash);
  std::array<char, kBytes> bytes{};
  for (const std::int64_t place : {std::int64_t{0}, std::max<std::int64_t>(0, size - kBytes)}) {
    file.clear();
    file.seekg(place);
    file.read(bytes.data(), kBytes);
    hash = hash_bytes(bytes.data(), static_cast<std::size_t>(file.gcount()), hash);
  }
  return hash;
}

}  // namespace dptrain::data
