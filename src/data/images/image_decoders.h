#pragma once

// Parts of decode_image() (image.h): detection of the format, a decoder per format, orientation. Private to the module.
// Pure functions; any thread. All throw ImageError.

#include <cstdint>
#include <span>

#include "data/images/image.h"
#include "data/images/mask.h"

namespace dptrain::data {

using ImageBytes = std::span<const std::uint8_t>;

enum class ImageFormat { kJpeg, kPng, kBmp, kGif, kPnm };

/// Detects the format from the first bytes. The error for another format names it.
ImageFormat image_format(ImageBytes file);

/// Throws for images of more than kMaxPixels. `byte`: offset of the size in the file.
void check_pixels(std::int64_t height, std::int64_t width, std::int64_t byte);
/// Throws for a file, at most as dense as PNG, that is too short for its pixels.
void check_length(ImageBytes file, std::int64_t height, std::int64_t width);
constexpr std::int64_t channels_of(ColorMode color) {
  return color == ColorMode::kGrayscale ? 1 : color == ColorMode::kRgb ? 3 : 4;
}
/// Converts pixels of 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGBA) channels to `color`.
void convert_pixels(const std::uint8_t* pixels, std::int64_t count, int channels, ColorMode color, std::uint8_t* out);

void decode_jpeg(ImageBytes file, const DecodeOptions& options, Array& out);
/// PNG, BMP, GIF.
void decode_stb(ImageBytes file, ImageFormat format, const DecodeOptions& options, Array& out);
/// Binary PGM and PPM. Scales values from 0..maxval to 0..255.
void decode_pnm(ImageBytes file, const DecodeOptions& options, Array& out);

/// Throws for a truncated file or a wrong checksum of a critical chunk. stb_image checks neither.
void check_png(ImageBytes file);
/// PNG masks (mask.h), without check_png().
void decode_png_mask(ImageBytes file, const MaskReading& reading, Array& out);

/// EXIF orientation 1..8 from the payload of a JPEG's APP1 marker; 1 if it has none.
int exif_orientation(ImageBytes app1);
/// Whether the orientation, 5..8, exchanges rows and columns.
constexpr bool swaps_axes(int orientation) { return orientation >= 5; }
/// Rotates and mirrors u8 pixels [H, W, C] to be upright.
void apply_orientation(int orientation, Array& image);

}  // namespace dptrain::data
