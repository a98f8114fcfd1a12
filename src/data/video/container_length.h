#pragma once

// Detects truncated video files before a frame is decoded, from the lengths in the headers of MP4 and QuickTime
// (boxes), AVI (RIFF), Matroska and WebM. Other formats are not checked. Pure; any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace dptrain::data {

/// Reads bytes from offset `place` on and returns their number.
using ReadAt = std::function<std::size_t(std::int64_t place, std::span<std::uint8_t> to)>;

/// The length that the headers require if it is more than `size`, the length of the file.
std::optional<std::int64_t> missing_length(std::int64_t size, const ReadAt& read);

}  // namespace dptrain::data
