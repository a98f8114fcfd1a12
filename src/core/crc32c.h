#pragma once

// CRC-32C (Castagnoli; polynomial 0x82F63B78, reflected), as records of TensorFlow have it. Pure; any thread.

#include <cstdint>
#include <string_view>

namespace dptrain {

std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace dptrain
