#pragma once

// What stands in front of a JPEG's entropy-coded data, for files of the usual kind: 8 bits, sequential, Huffman codes,
// gray or YCbCr, one scan of all components. Private to the room. Pure functions; any thread.

#include <array>
#include <cstddef>
#include <cstdint>

#include "data/images/image_decoders.h"

namespace dptrain::data {

/// A table of codes as the file has it: how many of each length, then their symbols.
struct JpegCodes {
  ImageBytes counts;  ///< [16]; empty: there is none
  ImageBytes symbols;
};

struct JpegComponent {
  std::int64_t across = 1, down = 1;      ///< blocks of an MCU
  std::array<std::uint16_t, 64> steps{};  ///< of the quantisation, in zigzag order
  JpegCodes dc, ac;
};

struct JpegHeader {
  std::int64_t height = 0, width = 0;
  int components = 0;  ///< 1 or 3: then the second and the third have one block in an MCU
  std::array<JpegComponent, 3> component;
  std::int64_t restart_interval = 0;  ///< MCUs; 0: none
  int orientation = 1;                ///< EXIF's, 1..8
  std::size_t scan = 0;               ///< where the entropy-coded data begins
};

/// false: the file is of another kind, or something is wrong with it or merely unusual; `header` is then unspecified,
/// and libjpeg has the last word. Nothing in it refers to memory but the file's.
bool read_jpeg_header(ImageBytes file, JpegHeader& header);

}  // namespace dptrain::data
