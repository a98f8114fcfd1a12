#pragma once

// Reads the headers of image files without decoding pixels. Pure functions; any thread.

#include <cstdint>
#include <span>
#include <string>

namespace dptrain::data {

struct ImageInfo {
  std::string format;                  ///< "jpeg", "png", "bmp", "gif", "pnm"
  std::string color_mode;              ///< "gray", "gray+alpha", "rgb", "rgba", "palette", "cmyk"
  std::int64_t height = 0, width = 0;  ///< as stored, without the EXIF orientation
  int bits = 8;                        ///< bits per channel
  bool progressive = false;            ///< JPEG
  int orientation = 1;                 ///< JPEG: EXIF orientation, 1 to 8
};

/// Throws ImageError (image.h) for a file of another format or with a truncated header.
ImageInfo image_info(std::span<const std::uint8_t> file);

/// The format by a name's suffix: "jpeg" for .jpg and .JPEG, ...; "" for other suffixes.
std::string format_of_name(const std::string& path);

}  // namespace dptrain::data
