#pragma once

// What an image file says about itself at its beginning, without decoding: for reports about data sets. Pure functions;
// any thread.

#include <cstdint>
#include <span>
#include <string>

namespace dptrain::data {

struct ImageInfo {
  std::string format;                  ///< "jpeg", "png", "bmp", "gif", "pnm"
  std::string color_mode;              ///< "gray", "gray+alpha", "rgb", "rgba", "palette", "cmyk"
  std::int64_t height = 0, width = 0;  ///< as stored: an EXIF orientation is not applied
  int bits = 8;                        ///< of a channel
  bool progressive = false;            ///< JPEG
};

/// Throws ImageError (image.h) for a file that is none, or ends within what is looked at.
ImageInfo image_info(std::span<const std::uint8_t> file);

/// The format that a name's suffix promises: "jpeg" for .jpg and .JPEG, ...; "" for any other suffix.
std::string format_of_name(const std::string& path);

}  // namespace dptrain::data
