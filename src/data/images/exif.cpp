// EXIF: a TIFF file inside a JPEG's APP1 marker. Of it we want one number, tag 0x0112.

#include <algorithm>
#include <array>
#include <cstring>

#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

constexpr std::array<std::uint8_t, 6> kExif{'E', 'x', 'i', 'f', 0, 0};
constexpr std::uint16_t kOrientation = 0x0112, kShort = 3;

/// Numbers of a TIFF file in its byte order; 0 beyond its end.
class Tiff {
 public:
  explicit Tiff(ImageBytes bytes) : bytes_(bytes), little_(bytes.size() > 1 && bytes[0] == 'I') {}

  std::uint32_t u16(std::size_t at) const { return number(at, 2); }
  std::uint32_t u32(std::size_t at) const { return number(at, 4); }

 private:
  std::uint32_t number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) return 0;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value = value << 8 | bytes_[little_ ? at + size - 1 - i : at + i];
    return value;
  }

  ImageBytes bytes_;
  bool little_;
};

/// Side of the squares in which pixels are moved, so that rows read and rows written both stay in the cache.
constexpr std::int64_t kTile = 32;

/// to[y][x] = from[source row][source column], where the source position is linear in y and x: first, plus `down` for
/// each row of the result, plus `right` for each column (all counted in pixels).
template <int kChannels>
void move_pixels(const std::uint8_t* from, std::int64_t first, std::int64_t down, std::int64_t right,
                 std::int64_t height, std::int64_t width, std::uint8_t* to) {
  for (std::int64_t top = 0; top < height; top += kTile)
    for (std::int64_t left = 0; left < width; left += kTile)
      for (std::int64_t y = top; y < std::min(height, top + kTile); ++y)
        for (std::int64_t x = left; x < std::min(width, left + kTile); ++x)
          std::memcpy(to + (y * width + x) * kChannels, from + (first + y * down + x * right) * kChannels, kChannels);
}

}  // namespace

int exif_orientation(ImageBytes app1) {
  if (app1.size() < kExif.size() || !std::equal(kExif.begin(), kExif.end(), app1.begin())) return 1;
  const Tiff tiff(app1.subspan(kExif.size()));
  const std::size_t directory = tiff.u32(4), entries = tiff.u16(directory);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + 12 * i;
    if (tiff.u16(entry) != kOrientation || tiff.u16(entry + 2) != kShort) continue;
    const std::uint32_t value = tiff.u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void apply_orientation(int orientation, Array& image) {
  if (orientation < 2 || orientation > 8) return;
  const std::int64_t h = image.shape[0], w = image.shape[1], channels = image.shape[2];
  // Where pixel (0, 0) of the result comes from, and the way to the next row and column.
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const std::int64_t first = (from_bottom ? (h - 1) * w : 0) + (from_right ? w - 1 : 0);
  const std::int64_t along_y = from_bottom ? -w : w, along_x = from_right ? -1 : 1;
  const bool swaps = swaps_axes(orientation);
  const std::int64_t down = swaps ? along_x : along_y, right = swaps ? along_y : along_x;
  const std::int64_t height = swaps ? w : h, width = swaps ? h : w;
  std::vector<std::uint8_t> turned(image.u8.size());
  const auto move = channels == 1 ? move_pixels<1> : channels == 3 ? move_pixels<3> : move_pixels<4>;
  move(image.u8.data(), first, down, right, height, width, turned.data());
  image.u8.swap(turned);
  image.shape = Shape{height, width, channels};
}

}  // namespace dptrain::data
