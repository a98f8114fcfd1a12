// Image decoders: any input gives pixels of the declared size, or an ImageError at an offset of the file; memory stays
// within the limits for these pixels and this input. The first byte selects color, rotation and a reduced size, or a
// mask with or without colors; every third length decodes only the middle.

#include <cstdint>

#include "data/images/image_decoders.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dptrain;
  if (size == 0) return 0;
  data::DecodeOptions options;
  options.color = static_cast<data::ColorMode>((data[0] & 3U) % 3);
  options.rotate = (data[0] & 4U) == 0;
  options.min_height = options.min_width = data[0] >> 3U;
  if (size % 3 == 0)
    options.part = [](const Shape& image) {
      return data::Window{image[0] / 4, image[1] / 4, (image[0] + 1) / 2, (image[1] + 1) / 2};
    };
  static data::Array out;  // reused, as in a worker
  out.type = DType::kU8;   // as decode_image() sets it
  const data::ImageBytes file{data + 1, size - 1};
  const bool is_mask = (data[0] & 3U) == 3;
  data::MaskReading reading;
  if ((data[0] & 4U) != 0) reading = {.colors = {{0, 0, 0}, {255, 255, 255}, {128, 64, 128}}, .ignored = {{9, 9, 9}}};
  try {
    // Few mutations of a PNG have valid checksums; every second one skips their check.
    if (size % 2 == 0 && data::image_format(file) == data::ImageFormat::kPng) {
      is_mask ? data::decode_png_mask(file, reading, out)
              : data::decode_stb(file, data::ImageFormat::kPng, options, out);
    } else if (is_mask) {
      data::decode_mask(file, reading, out);
    } else {
      data::decode_image(file, options, out);
    }
    if (out.type != DType::kU8 || out.u8.size() != static_cast<std::size_t>(out.shape.elements())) __builtin_trap();
    std::uint8_t all = 0;  // reads every pixel
    for (const std::uint8_t pixel : out.u8) all = static_cast<std::uint8_t>(all ^ pixel);
    [[maybe_unused]] static volatile std::uint8_t sink;
    sink = all;
  } catch (const data::ImageError& error) {
    if (error.byte() < (is_mask ? -1 : 0) || error.byte() > static_cast<std::int64_t>(size - 1)) __builtin_trap();
  }
  if (out.u8.capacity() > (64U << 20)) out = {};
  return 0;
}
