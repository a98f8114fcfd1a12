#pragma once

// The records of a zip archive, for its reader and its writer: PKWARE's APPNOTE 6.3.10, section 4.3.

#include <cstdint>

namespace dptrain::zip {

inline constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                               kLocator64 = 0x07064b50;

}  // namespace dptrain::zip
