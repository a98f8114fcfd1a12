#include "data/images/image_file.h"

#include <vector>

#include "data/images/image_decoders.h"
#include "data/images/image_info.h"
#include "data/on_error.h"
#include "data/sources/file_list.h"

namespace dptrain::data {

void read_image_file(const std::string& path, const ImageReading& reading, const ReadHint& hint, Array& out) {
  thread_local std::vector<std::uint8_t> bytes;  // of the file; a worker has one
  read_file(path, bytes);
  try {
    decode_image(bytes,
                 {.color = reading.color_mode,
                  .rotate = reading.exif == Exif::kRotate,
                  .least_height = hint.least_height,
                  .least_width = hint.least_width,
                  .part = hint.part},
                 out);
  } catch (const ImageError& error) {
    throw SampleError({.file = path, .byte = error.byte(), .words = error.words()});
  }
}

Shape peek_image_file(const std::string& path, const ImageReading& reading) {
  std::vector<std::uint8_t> bytes;
  try {
    read_file(path, bytes);
    const ImageInfo info = image_info(bytes);
    return {info.height, info.width, channels_of(reading.color_mode)};
  } catch (const Error&) {  // told when the sample is read
    return {};
  }
}

}  // namespace dptrain::data
