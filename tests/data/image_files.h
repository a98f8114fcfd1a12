#pragma once

// Generated image files: JPEG through libjpeg, other formats by hand.

#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>

#include "data/fixtures.h"

namespace dptrain::data {

/// Pixels of `channels` bytes, row-major.
struct Picture {
  std::int64_t height = 0, width = 0;
  int channels = 3;
  Bytes pixels;

  std::uint8_t at(std::int64_t y, std::int64_t x, int c) const {
    return pixels[static_cast<std::size_t>((y * width + x) * channels + c)];
  }
};

/// Smooth, so that JPEG preserves it, and different in every direction and channel.
inline Picture gradient(std::int64_t height, std::int64_t width, int channels = 3) {
  Picture picture{height, width, channels, {}};
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        picture.pixels.push_back(static_cast<std::uint8_t>(40 + 120 * y / height + (c + 1) * 25 * x / width));
  return picture;
}

struct JpegKind {
  J_COLOR_SPACE space = JCS_YCbCr;  ///< JCS_GRAYSCALE and JCS_CMYK, JCS_YCCK for pictures of 1 and 4 channels
  int quality = 95;
  bool progressive = false, arithmetic = false;
  bool adobe = true;    ///< CMYK, YCCK: with the marker for inverted inks
  int orientation = 0;  ///< 1..8: with EXIF
  bool big_endian = false;
  int restart_interval = 0;
  bool subsampled = true, subsampled_rows = true;
};

inline Bytes exif(int orientation, bool big_endian) {
  const auto value = static_cast<std::uint8_t>(orientation);
  Bytes bytes{'E', 'x', 'i', 'f', 0, 0};
  // Byte order, 42, offset of the directory; two entries: image width as a long, orientation as a short.
  const Bytes little{'I', 'I', 42, 0,    8,    0, 0, 0, 2, 0, 0x00, 0x01,  4, 0, 1, 0, 0, 0, 9,
                     0,   0,   0,  0x12, 0x01, 3, 0, 1, 0, 0, 0,    value, 0, 0, 0, 0, 0, 0, 0};
  const Bytes big{'M', 'M', 0, 42,   0,    0, 0, 8, 0, 2, 0x01, 0x00, 0,     4, 0, 0, 0, 1, 0,
                  0,   0,   9, 0x01, 0x12, 0, 3, 0, 0, 0, 1,    0,    value, 0, 0, 0, 0, 0, 0};
  const Bytes& tiff = big_endian ? big : little;
  bytes.insert(bytes.end(), tiff.begin(), tiff.end());
  return bytes;
}

inline Bytes jpeg_bytes(const Picture& picture, const JpegKind& kind = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &out, &size);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.input_components = picture.channels;
  jpeg.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : picture.channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&jpeg);
  jpeg_set_colorspace(&jpeg, kind.space);
  jpeg_set_quality(&jpeg, kind.quality, TRUE);
  if (!kind.subsampled) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  if (!kind.subsampled_rows) jpeg.comp_info[0].v_samp_factor = 1;
  if (!kind.adobe) jpeg.write_Adobe_marker = FALSE;
  jpeg.restart_interval = static_cast<unsigned>(kind.restart_interval);
  jpeg.arith_code = kind.arithmetic ? TRUE : FALSE;
  if (kind.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (kind.orientation != 0) {
    const Bytes marker = exif(kind.orientation, kind.big_endian);
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, marker.data(), static_cast<unsigned>(marker.size()));
  }
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<JSAMPROW>(picture.pixels.data() + jpeg.next_scanline * picture.width * picture.channels);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes bytes(out, out + size);
  std::free(out);
  return bytes;
}

inline void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }

inline Bytes png_chunk(const std::string& type, const Bytes& data) {
  Bytes body(type.begin(), type.end());
  append(body, data);
  Bytes chunk = big_endian(std::vector{static_cast<std::uint32_t>(data.size())});
  append(chunk, body);
  append(chunk, big_endian(std::vector{static_cast<std::uint32_t>(crc32_z(0, body.data(), body.size()))}));
  return chunk;
}

/// A PNG with a header of this depth and color type, and rows with their filter bytes.
inline Bytes png_file(std::int64_t height, std::int64_t width, std::uint8_t depth, std::uint8_t color_type,
                      const Bytes& raw, const Bytes& palette = {}) {
  Bytes header = big_endian(std::vector{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height)});
  append(header, {depth, color_type, 0, 0, 0});
  Bytes packed(compressBound(raw.size()));
  uLongf size = packed.size();
  compress(packed.data(), &size, raw.data(), raw.size());
  packed.resize(size);
  Bytes bytes{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  append(bytes, png_chunk("IHDR", header));
  if (!palette.empty()) append(bytes, png_chunk("PLTE", palette));
  append(bytes, png_chunk("IDAT", packed));
  append(bytes, png_chunk("IEND", {}));
  return bytes;
}

/// Values of `depth` bits, 1 to 8: indices of a palette of RGB triples, or gray if it is empty.
inline Bytes png_mask(std::int64_t height, std::int64_t width, std::uint8_t depth, const Bytes& values,
                      const Bytes& palette = {}) {
  Bytes raw;
  for (std::int64_t y = 0; y < height; ++y) {
    raw.push_back(0);  // no filter
    unsigned held = 0, bits = 0;
    for (std::int64_t x = 0; x < width; ++x) {
      held = held << depth | values[static_cast<std::size_t>(y * width + x)];
      if ((bits += depth) < 8 && x + 1 < width) continue;
      raw.push_back(static_cast<std::uint8_t>(held << (8 - bits)));
      held = bits = 0;
    }
  }
  return png_file(height, width, depth, palette.empty() ? 0 : 3, raw, palette);
}

/// `depth` 8 or 16. With 16, the upper byte is the picture's and the lower one is 77.
inline Bytes png_bytes(const Picture& picture, std::uint8_t depth = 8) {
  static constexpr std::uint8_t kColorType[] = {0, 0, 4, 2, 6};
  Bytes raw;
  std::size_t next = 0;
  for (std::int64_t y = 0; y < picture.height; ++y) {
    raw.push_back(0);  // no filter
    for (std::int64_t x = 0; x < picture.width * picture.channels; ++x) {
      raw.push_back(picture.pixels[next++]);
      if (depth == 16) raw.push_back(77);
    }
  }
  return png_file(picture.height, picture.width, depth, kColorType[picture.channels], raw);
}

template <class T>
void append_little(Bytes& to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// 24 bits a pixel, bottom row first.
inline Bytes bmp_bytes(const Picture& picture) {
  const auto stride = static_cast<std::uint32_t>((3 * picture.width + 3) / 4 * 4);
  const auto size = static_cast<std::uint32_t>(stride * picture.height);
  Bytes bytes{'B', 'M'};
  append_little(bytes, 54 + size);
  append_little(bytes, std::uint32_t{0});
  append_little(bytes, std::uint32_t{54});
  append_little(bytes, std::uint32_t{40});
  append_little(bytes, static_cast<std::uint32_t>(picture.width));
  append_little(bytes, static_cast<std::uint32_t>(picture.height));
  append_little(bytes, std::uint16_t{1});
  append_little(bytes, std::uint16_t{24});
  append_little(bytes, std::uint32_t{0});
  append_little(bytes, size);
  for (int i = 0; i < 4; ++i) append_little(bytes, std::uint32_t{0});
  for (std::int64_t y = picture.height - 1; y >= 0; --y) {
    for (std::int64_t x = 0; x < picture.width; ++x)
      for (int c = 2; c >= 0; --c) bytes.push_back(picture.at(y, x, c));
    for (std::int64_t x = 3 * picture.width; x < stride; ++x) bytes.push_back(0);
  }
  return bytes;
}

/// A palette of four colors; `indices` are 0..3. LZW with a clear code before every second pixel: the table stays
/// small.
inline Bytes gif_bytes(std::int64_t height, std::int64_t width, const Bytes& palette, const Bytes& indices) {
  Bytes bytes{'G', 'I', 'F', '8', '9', 'a'};
  const auto w = static_cast<std::uint16_t>(width), h = static_cast<std::uint16_t>(height);
  append_little(bytes, w);
  append_little(bytes, h);
  append(bytes, {0x81, 0, 0});
  append(bytes, palette);
  append(bytes, {0x2C, 0, 0, 0, 0});
  append_little(bytes, w);
  append_little(bytes, h);
  append(bytes, {0, 2});
  Bytes data;
  unsigned held = 0, bits = 0;
  const auto put = [&](unsigned code) {  // three bits each
    held |= code << bits;
    for (bits += 3; bits >= 8; bits -= 8, held >>= 8) data.push_back(static_cast<std::uint8_t>(held));
  };
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (i % 2 == 0) put(4);
    put(indices[i]);
  }
  put(5);
  if (bits > 0) data.push_back(static_cast<std::uint8_t>(held));
  for (std::size_t at = 0; at < data.size(); at += 255) {
    const std::size_t count = std::min<std::size_t>(255, data.size() - at);
    bytes.push_back(static_cast<std::uint8_t>(count));
    bytes.insert(bytes.end(), data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + count));
  }
  append(bytes, {0, ';'});
  return bytes;
}

inline Bytes pnm_bytes(const Picture& picture, const std::string& maxval = "255") {
  const std::string head = std::string(picture.channels == 3 ? "P6" : "P5") + "\n# a comment\n" +
                           std::to_string(picture.width) + " " + std::to_string(picture.height) + "\n" + maxval + "\n";
  Bytes bytes(head.begin(), head.end());
  append(bytes, picture.pixels);
  return bytes;
}

inline Bytes text_bytes(const std::string& text) { return {text.begin(), text.end()}; }

}  // namespace dptrain::data
