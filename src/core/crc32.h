#pragma once

// CRC-32 as in zlib, PNG and gzip (polynomial 0xEDB88320, reflected). Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <span>

namespace dptrain {

/// Goes on from `crc`, the value of the bytes before; 0 to begin.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

}  // namespace dptrain
