#pragma once

// CRC-32 as in zlib, PNG and gzip (polynomial 0xEDB88320, reflected), computed by zlib. Pure; any thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace dptrain {

/// Continues from `crc`, the value of the preceding bytes; 0: begin.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t crc = 0) noexcept;

// CRC-32C (Castagnoli; polynomial 0x82F63B78, reflected), as in TensorFlow's record files. Pure; any thread.

std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace dptrain
