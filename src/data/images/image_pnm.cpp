// Binary PGM and PPM (netpbm's P5 and P6). Not with stb_image, which ignores maxval and missing bytes.

#include "core/format.h"
#include "core/text.h"
#include "data/images/image_decoders.h"

namespace dptrain::data {
namespace {

constexpr std::int64_t kLargestNumber = 1 << 30;

bool is_space(std::uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

struct PnmHeader {
  std::int64_t width = 0, height = 0, maxval = 0;
  std::size_t bytes = 0;
  int channels = 1;
};

/// Reads the next number and advances `at` past it. Comments extend from # to the end of the line.
std::int64_t number(ImageBytes file, std::size_t& at, const char* what) {
  while (at < file.size() && (is_space(file[at]) || file[at] == '#')) {
    if (file[at] == '#')
      while (at < file.size() && file[at] != '\n') ++at;
    else
      ++at;
  }
  const std::size_t begin = at;
  std::int64_t value = 0;
  for (; at < file.size() && file[at] >= '0' && file[at] <= '9'; ++at)
    if (value < kLargestNumber) value = value * 10 + (file[at] - '0');
  if (at == begin) throw ImageError(static_cast<std::int64_t>(at), fmt::format("the header has no {}", what));
  return value;
}

PnmHeader read_header(ImageBytes file) {
  PnmHeader header;
  header.channels = file[1] == '6' ? 3 : 1;
  std::size_t at = 2;
  header.width = number(file, at, "width");
  header.height = number(file, at, "height");
  check_pixels(header.height, header.width, 2);
  header.maxval = number(file, at, "maxval");
  if (header.maxval < 1 || header.maxval > 65535)
    throw ImageError(static_cast<std::int64_t>(at), fmt::format("maxval is {}; expected 1 to 65535", header.maxval));
  if (at == file.size() || !is_space(file[at]))
    throw ImageError(static_cast<std::int64_t>(at), "no white space after maxval");
  header.bytes = at + 1;
  return header;
}

}  // namespace

void decode_pnm(ImageBytes file, const DecodeOptions& options, Array& out) {
  const PnmHeader header = read_header(file);
  const std::int64_t pixels = header.width * header.height, values = pixels * header.channels;
  const std::int64_t wide = header.maxval > 255 ? 2 : 1, wanted = values * wide;
  const auto found = static_cast<std::int64_t>(file.size() - header.bytes);
  if (found < wanted)
    throw ImageError(
        static_cast<std::int64_t>(file.size()),
        fmt::format("truncated: {} bytes of pixels expected, found {}", with_commas(wanted), with_commas(found)));
  const std::uint8_t* const from = file.data() + header.bytes;
  std::vector<std::uint8_t> scaled;
  const std::uint8_t* bytes = from;
  if (header.maxval != 255) {
    scaled.resize(static_cast<std::size_t>(values));
    for (std::int64_t i = 0; i < values; ++i) {
      const std::int64_t value = wide == 2 ? from[2 * i] * 256 + from[2 * i + 1] : from[i];
      if (value > header.maxval)
        throw ImageError(static_cast<std::int64_t>(header.bytes) + i * wide,
                         fmt::format("the value {} is above maxval, {}", value, header.maxval));
      scaled[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(
          header.maxval == 65535 ? value >> 8 : (value * 255 + header.maxval / 2) / header.maxval);
    }
    bytes = scaled.data();
  }
  out.shape = Shape{header.height, header.width, channels_of(options.color)};
  out.u8.resize(static_cast<std::size_t>(out.shape.elements()));
  convert_pixels(bytes, pixels, header.channels, options.color, out.u8.data());
}

}  // namespace dptrain::data
