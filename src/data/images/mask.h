#pragma once

// Masks: PNG files with a class for each pixel of a picture. Any thread.
//
//   Array mask;                                                  // u8 [H, W, 1]
//   read_mask("masks/1.png", {}, mask);                          // values of the file are class numbers
//   write_mask("classes.png", mask.u8, 480, 640, mask_palette(21));

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "data/source.h"

namespace dptrain::data {

using Rgb = std::array<std::uint8_t, 3>;

/// "#804080".
std::string color_text(const Rgb& color);

/// Conversion of a file's pixels to class numbers.
struct MaskReading {
  std::vector<Rgb> colors{};   ///< of class 0, 1, ..., at most 256; empty: the values of the file are class numbers
  std::vector<Rgb> ignored{};  ///< colors of pixels with the class `ignore_class`, only with `colors`
  std::uint8_t ignore_class = 255;
};

/// Decodes a mask into `out`, u8 [H, W, 1]. Reuses its memory.
///
/// - Without `colors`: indices of an indexed PNG, values of a gray PNG, not scaled. RGB is an error.
/// - With `colors`: the class of each pixel's color. A color in neither list is an error that names color and pixel.
/// - Alpha is dropped. 16 bits, and other formats than PNG, are errors.
/// - A truncated or damaged file is an error.
///
/// Throws ImageError (image.h).
void decode_mask(std::span<const std::uint8_t> file, const MaskReading& reading, Array& out);
/// As decode_mask(), from a file. Throws SampleError with the file's path.
void read_mask(const std::string& path, const MaskReading& reading, Array& out);
/// [H, W, 1] from the file's header; rank 0 for a file that is not a PNG or cannot be read.
Shape peek_mask(const std::string& path);

/// Colors of the class numbers in PASCAL VOC's masks, at most 256.
std::vector<Rgb> mask_palette(std::int64_t classes);
/// Writes an indexed PNG of 8 bits, atomically. Colors of mask_palette() follow those of `palette`, up to 256. Throws
/// Error{kWrite}.
void write_mask(const std::filesystem::path& path, std::span<const std::uint8_t> classes, std::int64_t height,
                std::int64_t width, std::span<const Rgb> palette);

}  // namespace dptrain::data
