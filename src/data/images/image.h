#pragma once

// Decodes image files in memory: JPEG (libjpeg-turbo), PNG, BMP and the first image of a GIF (stb_image), binary PGM
// and PPM. The first bytes of a file determine its format, never its name. Any thread.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>

#include "config/typed.h"
#include "core/error.h"
#include "data/source.h"

namespace dptrain::data {

/// Maximum size of an image, for example 20,000 x 6,700. A larger one is an error before its pixels are allocated.
inline constexpr std::int64_t kMaxPixels = std::int64_t{1} << 27;

enum class ColorMode { kGrayscale, kRgb, kRgba };

struct DecodeOptions {
  ColorMode color = ColorMode::kRgb;
  bool rotate = true;  ///< apply the EXIF orientation of a JPEG
  /// Not 0: a JPEG may be decoded at 1/2, 1/4 or 1/8 of its size, but not below this size after rotation.
  std::int64_t min_height = 0, min_width = 0;
  /// As in ReadHint. Damage after the last row of the part may then be missed, unless the file is truncated.
  std::function<Window(const Shape&)> part{};
};

/// An image that cannot be read, with the byte offset in the file (-1: unknown) and the decoder's message.
class ImageError : public Error {
 public:
  ImageError(std::int64_t byte, const std::string& reason);

  std::int64_t byte() const noexcept { return byte_; }
  const std::string& reason() const noexcept { return reason_; }

 private:
  std::int64_t byte_;
  std::string reason_;
};

/// Decodes into `out`, u8 [H, W, C] with C = 1, 3 or 4. Reuses its memory.
///
/// - kRgb and kGrayscale drop alpha without blending, as Keras's load_img does. In kRgba, alpha defaults to 255.
/// - kGrayscale of a JPEG is its luminance channel as stored (tf.io.decode_jpeg(channels=1)); otherwise it is
///   (19595 R + 38470 G + 7471 B + 32768) / 65536 (load_img).
/// - CMYK and YCCK become RGB by (255 - c)(255 - k) / 255. A file with an Adobe marker holds inverted values.
/// - 16-bit values are truncated to their upper byte.
/// - A truncated or damaged file is an error, even if the decoder could continue with a partial image.
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

enum class Exif { kRotate, kIgnore };

struct ImageReading {
  ColorMode color_mode = ColorMode::kRgb;
  Exif exif = Exif::kRotate;
};

/// Reads an image file as a sample into `out`, u8 [H, W, C]. Throws SampleError with the file's path.
void read_image_file(const std::string& path, const ImageReading& reading, const ReadHint& hint, Array& out);
/// Shape of the sample, from the file's header; empty for a file that cannot be read.
Shape peek_image_file(const std::string& path, const ImageReading& reading);

}  // namespace dptrain::data

namespace dptrain::config {
template <>
struct EnumNames<data::Exif> {
  static constexpr std::array names{std::pair{data::Exif::kRotate, "rotate"}, std::pair{data::Exif::kIgnore, "ignore"}};
};
}  // namespace dptrain::config
