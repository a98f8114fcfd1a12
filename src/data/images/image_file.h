#pragma once

// One image file as a sample: what folders of images and columns of paths read. Any thread.

#include <array>
#include <string>
#include <utility>

#include "data/images/image.h"

namespace dptrain::data {

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
