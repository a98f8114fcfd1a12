#pragma once

// The parts of decode_image (image.h), one per file: what a file is, a decoder for each kind, orientation. Private to
// the module. Pure functions; any thread. All throw ImageError.

#include <cstdint>
#include <span>
#include <vector>

#include "data/images/image.h"

namespace dptrain::data {

using ImageBytes = std::span<const std::uint8_t>;

enum class ImageFormat { kJpeg, kPng, kBmp, kGif, kPnm };

/// By the first bytes. Says what a file is that is none of these.
ImageFormat image_format(ImageBytes file);

/// Refuses images beyond kMostPixels. `byte`: where the file says so.
void check_pixels(std::int64_t height, std::int64_t width, std::int64_t byte);
/// Channels of the result.
constexpr std::int64_t channels_of(ColorMode color) {
  return color == ColorMode::kGrayscale ? 1 : color == ColorMode::kRgb ? 3 : 4;
}
/// Converts pixels of 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels to `color`.
void convert_pixels(const std::uint8_t* pixels, std::int64_t count, int channels, ColorMode color, std::uint8_t* out);

void decode_jpeg(ImageBytes file, const DecodeOptions& options, Array& out);
/// PNG, BMP, GIF.
void decode_stb(ImageBytes file, ImageFormat format, const DecodeOptions& options, Array& out);
/// Binary PGM and PPM; values are scaled from 0..maxval to 0..255.
void decode_pnm(ImageBytes file, const DecodeOptions& options, Array& out);

/// Walks the chunks: cut short, or a checksum that is wrong (stb_image looks at neither).
void check_png(ImageBytes file);

/// 1..8, from the payload of a JPEG's APP1 marker; 1 where it says nothing.
int exif_orientation(ImageBytes app1);
/// Rows and columns change places in 5..8.
constexpr bool swaps_axes(int orientation) { return orientation >= 5; }
/// Turns and mirrors u8 pixels [H, W, C] so that they stand upright.
void apply_orientation(int orientation, Array& image);

}  // namespace dptrain::data
