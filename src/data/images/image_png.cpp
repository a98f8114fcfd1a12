#include <zlib.h>

#include <algorithm>
#include <string>

#include "core/format.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

constexpr std::size_t kSignature = 8, kAround = 12;  // length, type and checksum of a chunk
constexpr std::size_t kSize = 16;                    // offset of width and height in IHDR, the first chunk

std::uint32_t word(ImageBytes file, std::size_t at) {
  return std::uint32_t{file[at]} << 24 | std::uint32_t{file[at + 1]} << 16 | std::uint32_t{file[at + 2]} << 8 |
         std::uint32_t{file[at + 3]};
}

/// "IDAT", or hexadecimal bytes if they are not letters.
std::string name_of_chunk(ImageBytes type) {
  const bool letters =
      std::all_of(type.begin(), type.end(), [](std::uint8_t c) { return (c | 0x20U) >= 'a' && (c | 0x20U) <= 'z'; });
  if (letters) return {type.begin(), type.end()};
  return fmt::format("{:02x} {:02x} {:02x} {:02x}", type[0], type[1], type[2], type[3]);
}

}  // namespace

void check_png(ImageBytes file) {
  const auto fail = [](std::size_t byte, const std::string& words) {
    throw ImageError(static_cast<std::int64_t>(byte), words);
  };
  if (file.size() >= kSize + 8) check_pixels(word(file, kSize + 4), word(file, kSize), kSize);
  for (std::size_t at = kSignature;;) {
    const std::size_t left = file.size() - at;
    if (left < kAround) fail(file.size(), "truncated: the chunk IEND is missing");
    const std::size_t length = word(file, at);
    const ImageBytes type = file.subspan(at + 4, 4);
    const std::string name = name_of_chunk(type);
    if (length > left - kAround)
      fail(file.size(),
           fmt::format("truncated inside the chunk {} of {} bytes that begins at byte {}", name, length, at));
    const bool critical = (type[0] & 0x20U) == 0;  // required for the pixels
    const auto sum = static_cast<std::uint32_t>(crc32_z(0, type.data(), length + 4));
    if (critical && sum != word(file, at + 8 + length))
      fail(at, fmt::format("the checksum of the chunk {} is wrong", name));
    if (name == "IEND") return;
    at += length + kAround;
  }
}

}  // namespace dptrain::data
