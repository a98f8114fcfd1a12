#pragma once

// Whether a file of a video is as long as it says. Containers write their length at the front, so a file that was cut
// short shows wherever the cut is, before a frame is decoded: MP4 and QuickTime (boxes), AVI (RIFF), Matroska and WebM.
// Other formats say nothing. Pure; any thread.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace dptrain::data {

/// Reads bytes of a file of `size` bytes from a place on: how many there were.
using ReadAt = std::function<std::size_t(std::int64_t place, std::span<std::uint8_t> to)>;

/// How long the file would have to be, where that is more than `size`.
std::optional<std::int64_t> missing_length(std::int64_t size, const ReadAt& read);

}  // namespace dptrain::data
