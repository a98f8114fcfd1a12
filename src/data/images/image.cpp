#include "data/images/image.h"

#include <vector>

#include "core/format.h"
#include "core/text.h"
#include "core/trace.h"
#include "data/images/image_decoders.h"
#include "data/images/image_info.h"
#include "data/on_error.h"
#include "data/sources/file_list.h"

namespace dptrain::data {
namespace {

/// PNG is the densest format: deflate packs at most 1032 bytes into one (RFC 1951), of 8 pixels each.
constexpr std::int64_t kMaxPixelsPerByte = 8 * 1032;

/// Pillow's convert("L"), ITU-R 601 in 16 bits.
std::uint8_t luminance(const std::uint8_t* rgb) {
  return static_cast<std::uint8_t>((rgb[0] * 19595U + rgb[1] * 38470U + rgb[2] * 7471U + 0x8000U) >> 16);
}

template <int kFrom, int kTo>
void convert(const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  for (std::int64_t i = 0; i < count; ++i, from += kFrom, to += kTo) {
    if constexpr (kTo == 1) {
      *to = kFrom < 3 ? *from : luminance(from);
    } else {
      for (int c = 0; c < 3; ++c) to[c] = from[kFrom < 3 ? 0 : c];
      if constexpr (kTo == 4) to[3] = kFrom % 2 == 0 ? from[kFrom - 1] : 255;
    }
  }
}

template <int kFrom>
void convert_to(ColorMode color, const std::uint8_t* from, std::int64_t count, std::uint8_t* to) {
  switch (color) {
    case ColorMode::kGrayscale: return convert<kFrom, 1>(from, count, to);
    case ColorMode::kRgb: return convert<kFrom, 3>(from, count, to);
    case ColorMode::kRgba: return convert<kFrom, 4>(from, count, to);
  }
}

}  // namespace

ImageError::ImageError(std::int64_t byte, const std::string& reason)
    : Error(ErrorKind::kData, byte < 0 ? reason : fmt::format("byte {}: {}", with_commas(byte), reason)),
      byte_(byte),
      reason_(reason) {}

void check_pixels(std::int64_t height, std::int64_t width, std::int64_t byte) {
  if (height < 1 || width < 1) throw ImageError(byte, fmt::format("an image of {} x {} pixels", width, height));
  if (width > kMaxPixels / height)
    throw ImageError(byte, fmt::format("{} x {} pixels; at most {} are decoded", with_commas(width),
                                       with_commas(height), with_commas(kMaxPixels)));
}

void check_length(ImageBytes file, std::int64_t height, std::int64_t width) {
  if (height * width / kMaxPixelsPerByte > static_cast<std::int64_t>(file.size()))
    throw ImageError(static_cast<std::int64_t>(file.size()),
                     fmt::format("truncated: an image of {} x {} pixels needs more bytes", width, height));
}

void convert_pixels(const std::uint8_t* pixels, std::int64_t count, int channels, ColorMode color, std::uint8_t* out) {
  switch (channels) {
    case 1: return convert_to<1>(color, pixels, count, out);
    case 2: return convert_to<2>(color, pixels, count, out);
    case 3: return convert_to<3>(color, pixels, count, out);
    case 4: return convert_to<4>(color, pixels, count, out);
    default: throw ImageError(0, fmt::format("an image of {} channels", channels));
  }
}

void decode_image(std::span<const std::uint8_t> file, const DecodeOptions& options, Array& out) {
  const trace::Span span("data", "decode");
  out.type = DType::kU8;
  switch (const ImageFormat format = image_format(file)) {
    case ImageFormat::kJpeg: return decode_jpeg(file, options, out);
    case ImageFormat::kPnm: return decode_pnm(file, options, out);
    case ImageFormat::kPng: check_png(file); [[fallthrough]];
    case ImageFormat::kBmp:
    case ImageFormat::kGif: return decode_stb(file, format, options, out);
  }
}

void read_image_file(const std::string& path, const ImageReading& reading, const ReadHint& hint, Array& out) {
  thread_local std::vector<std::uint8_t> bytes;  // contents of the file, reused by the thread
  read_file(path, bytes);
  try {
    decode_image(bytes,
                 {.color = reading.color_mode,
                  .rotate = reading.exif == Exif::kRotate,
                  .min_height = hint.min_height,
                  .min_width = hint.min_width,
                  .part = hint.part},
                 out);
  } catch (const ImageError& error) {
    throw SampleError({.file = path, .byte = error.byte(), .reason = error.reason()});
  }
}

Shape peek_image_file(const std::string& path, const ImageReading& reading) {
  std::vector<std::uint8_t> bytes;
  try {
    read_file(path, bytes);
    const ImageInfo info = image_info(bytes);
    const bool swaps = reading.exif == Exif::kRotate && swaps_axes(info.orientation);
    return {swaps ? info.width : info.height, swaps ? info.height : info.width, channels_of(reading.color_mode)};
  } catch (const Error&) {  // read_image_file() reports the error
    return {};
  }
}

}  // namespace dptrain::data
