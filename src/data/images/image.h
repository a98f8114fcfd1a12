#pragma once

// Image files in memory to pixels: JPEG (libjpeg-turbo), PNG, BMP, GIF (its first picture) and binary PGM and PPM
// (stb_image). The first bytes of a file tell what it is, never its name. Pure functions; any thread. Memory is
// bounded by kMostPixels, whatever a file claims.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "config/value.h"
#include "core/error.h"
#include "data/source.h"

namespace dptrain::data {

/// A JPEG of 20,000 x 6,700 pixels, or 400 MB as RGB. A file that claims more is refused before anything is allocated.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 27;

enum class ColorMode { kGrayscale, kRgb, kRgba };

struct DecodeOptions {
  ColorMode color = ColorMode::kRgb;
  bool rotate = true;  ///< turn and mirror a JPEG as its EXIF orientation says
  /// Not 0: a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size as long as it stays at least this large, after
  /// rotation.
  std::int64_t least_height = 0, least_width = 0;
  /// As in ReadHint. Then damage behind the last row of the part may go unnoticed, unless the file has no end.
  std::function<Window(const Shape&)> part{};
};

/// Why an image could not be read: where in the file, and the decoder's words.
class ImageError : public Error {
 public:
  ImageError(std::int64_t byte, const std::string& words);

  std::int64_t byte() const noexcept { return byte_; }
  const std::string& words() const noexcept { return words_; }

 private:
  std::int64_t byte_;
  std::string words_;
};

/// `out` becomes u8 [H, W, C] with C = 1, 3 or 4; its memory is used again where it suffices.
///
/// - Alpha is dropped, not blended, in kRgb and kGrayscale, as Keras's load_img does; in kRgba what has none gets 255.
/// - kGrayscale of a JPEG is its luminance channel as stored (tf.io.decode_jpeg(channels=1)), of other files
///   (19595 R + 38470 G + 7471 B + 32768) / 65536 (load_img).
/// - CMYK and YCCK become RGB by (255 - c)(255 - k) / 255; an Adobe marker says that the file holds them inverted.
/// - 16 bits become 8 by their upper byte.
/// - A file cut short or damaged is an error, also where a decoder would fill in the rest and go on.
///
/// Throws ImageError, an Error{kData}: "byte 1,234: premature end of JPEG file".
void decode_image(std::span<const std::uint8_t> file, const DecodeOptions& options, Array& out);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::ColorMode> {
  static constexpr std::array names{std::pair{data::ColorMode::kGrayscale, "grayscale"},
                                    std::pair{data::ColorMode::kRgb, "rgb"}, std::pair{data::ColorMode::kRgba, "rgba"}};
};
}  // namespace dptrain::config

namespace dptrain::data {

// One image file as a sample: what folders of images and columns of paths read. Any thread.

enum class Exif { kRotate, kIgnore };

struct ImageReading {
  ColorMode color_mode = ColorMode::kRgb;
  Exif exif = Exif::kRotate;
};

/// `out` becomes u8 [H, W, C]. Throws SampleError that names the file.
void read_image_file(const std::string& path, const ImageReading& reading, const ReadHint& hint, Array& out);
/// The shape that the file's header says, before it is turned upright; nothing for a file that cannot be read.
Shape peek_image_file(const std::string& path, const ImageReading& reading);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::Exif> {
  static constexpr std::array names{std::pair{data::Exif::kRotate, "rotate"}, std::pair{data::Exif::kIgnore, "ignore"}};
};
}  // namespace dptrain::config
