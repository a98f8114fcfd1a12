#pragma once

// CRC-32 as in zlib, PNG and gzip (polynomial 0xEDB88320, reflected), by zlib. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dptrain {

/// Goes on from `crc`, the value of the bytes before; 0 to begin.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

// CRC-32C (Castagnoli; polynomial 0x82F63B78, reflected), as records of TensorFlow have it. Pure; any thread.

std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace dptrain
