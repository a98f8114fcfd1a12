#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace dptrain::plot {

/// An 8-bit RGB image, stored row by row. A value.
struct RgbImage {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;

  RgbImage(std::int64_t h, std::int64_t w, std::uint8_t value = 255)
      : height(h), width(w), rgb(static_cast<std::size_t>(h * w * 3), value) {}
};

/// Converts values [H, W, C]: the first three channels as RGB, or the first as grey if there are fewer than three.
/// `low` to `high` become 0 to 255.
RgbImage image_of(const float* values, std::int64_t height, std::int64_t width, std::int64_t channels, float low,
                  float high);

/// At most `most` pixels high and wide: larger images are averaged over blocks of pixels, others are copied.
RgbImage shrunk(const RgbImage& image, std::int64_t most);

/// Repeats each pixel `factor` times in both directions.
RgbImage enlarged(const RgbImage& image, std::int64_t factor);

/// Arranges one or more images in rows of `columns`, in cells of the largest size, `gap` white pixels apart.
RgbImage tiled(const std::vector<RgbImage>& images, std::int64_t columns, std::int64_t gap);

using Rgb = std::array<std::uint8_t, 3>;

/// A class for each pixel, row by row. A value.
struct ClassMap {
  static constexpr std::int32_t kIgnored = -1;

  std::int64_t height = 0, width = 0;
  std::vector<std::int32_t> classes{};  ///< or kIgnored
};

/// The map at another size: each pixel has the class of the nearest one.
ClassMap resized(const ClassMap& map, std::int64_t height, std::int64_t width);
/// At most `most` pixels high and wide, as shrunk() of an image of the same size.
ClassMap shrunk(const ClassMap& map, std::int64_t most);

/// The luminance of each pixel in all three channels, so that colors mixed in are distinct.
RgbImage gray(const RgbImage& image);

/// Mixes each pixel half and half with the color of its class; classes without a color leave it unchanged. Ignored
/// pixels are hatched in white. A map of another size is resized to the image.
RgbImage overlaid(const RgbImage& image, const ClassMap& map, const std::vector<std::optional<Rgb>>& colors);

/// The bytes of a PNG file. Throws Error{kMemory}.
std::vector<std::uint8_t> encode_png(const RgbImage& picture);

}  // namespace dptrain::plot
