#pragma once

// The seal: 24 bytes after the end of the HDF5 data, "\ndptrain crc32 1a2b3c4d\n", the CRC-32 of all bytes before them.
// Readers of HDF5 look no further than the end address in the file's head, so they do not see it; whoever changes the
// file with such a library cuts it off, and the file counts as unsealed. Pure; any thread.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dptrain::exporting {

constexpr std::size_t kSealBytes = 24;
constexpr std::string_view kSealWords = "\ndptrain crc32 ";  ///< it begins with these

std::array<std::byte, kSealBytes> seal(std::uint32_t crc);

}  // namespace dptrain::exporting
