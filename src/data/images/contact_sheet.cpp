#include "data/images/contact_sheet.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "core/error.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_easy_font.h>
#include <stb/stb_image_write.h>

namespace dptrain::data {
namespace {

constexpr std::int64_t kGap = 6, kTextScale = 2, kTextHeight = 9 * kTextScale;

/// One letter's worth of ASCII for each character beyond it.
std::string in_ascii(const std::string& text) {
  std::string plain;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xC0) continue;  // inside a character of UTF-8
    plain += byte >= 0x20 && byte < 0x7F ? c : '?';
  }
  return plain;
}

/// Dark letters with their upper left corner at (y, x), cut at the edge of the picture.
void draw_text(RgbImage& picture, std::int64_t y, std::int64_t x, const std::string& text) {
  struct Vertex {
    float x, y, z;
    std::array<unsigned char, 4> color;
  };
  std::string plain = in_ascii(text);
  std::vector<Vertex> corners(plain.size() * 80);  // 270 bytes a letter, says the font
  const int quads = stb_easy_font_print(0, 0, plain.data(), nullptr, corners.data(),
                                        static_cast<int>(corners.size() * sizeof(Vertex)));
  for (int q = 0; q < quads; ++q) {  // axis-aligned boxes: corner 0 is the first, 2 the opposite
    const Vertex &a = corners[static_cast<std::size_t>(q) * 4], &b = corners[static_cast<std::size_t>(q) * 4 + 2];
    const auto at = [](float v) { return static_cast<std::int64_t>(std::lround(v)) * kTextScale; };
    for (std::int64_t row = y + at(a.y); row < std::min(y + at(b.y), picture.height); ++row)
      for (std::int64_t column = x + at(a.x); column < std::min(x + at(b.x), picture.width); ++column)
        std::memset(&picture.rgb[static_cast<std::size_t>((row * picture.width + column) * 3)], 32, 3);
  }
}

std::int64_t text_width(const std::string& text) {
  std::string plain = in_ascii(text);
  return stb_easy_font_width(plain.data()) * kTextScale;
}

void paste(const RgbImage& from, std::int64_t factor, std::int64_t y, std::int64_t x, RgbImage& to) {
  for (std::int64_t row = 0; row < from.height * factor; ++row)
    for (std::int64_t column = 0; column < from.width * factor; ++column)
      std::memcpy(&to.rgb[static_cast<std::size_t>(((y + row) * to.width + x + column) * 3)],
                  &from.rgb[static_cast<std::size_t>((row / factor * from.width + column / factor) * 3)], 3);
}

}  // namespace

RgbImage contact_sheet(const std::vector<std::string>& titles, const std::vector<SheetRow>& rows, std::int64_t least) {
  std::int64_t height = 1, width = 1;
  std::size_t columns = titles.size();
  for (const SheetRow& row : rows) {
    columns = std::max(columns, row.pictures.size());
    for (const RgbImage& picture : row.pictures)
      height = std::max(height, picture.height), width = std::max(width, picture.width);
  }
  const std::int64_t factor = std::max<std::int64_t>(1, least / std::max(height, width));
  std::int64_t cell_width = width * factor;
  for (const std::string& title : titles) cell_width = std::max(cell_width, text_width(title));
  const std::int64_t cell_height = kTextHeight + kGap + height * factor + kGap;
  std::int64_t sheet_width = kGap + static_cast<std::int64_t>(columns) * (cell_width + kGap);
  for (const SheetRow& row : rows)
    sheet_width = std::max(sheet_width, std::min(text_width(row.label) + 2 * kGap, 2 * sheet_width));
  RgbImage sheet(kGap + kTextHeight + kGap + static_cast<std::int64_t>(rows.size()) * cell_height, sheet_width);
  for (std::size_t c = 0; c < titles.size(); ++c)
    draw_text(sheet, kGap, kGap + static_cast<std::int64_t>(c) * (cell_width + kGap), titles[c]);
  std::int64_t y = kGap + kTextHeight + kGap;
  for (const SheetRow& row : rows) {
    draw_text(sheet, y, kGap, row.label);
    for (std::size_t c = 0; c < row.pictures.size(); ++c)
      paste(row.pictures[c], factor, y + kTextHeight, kGap + static_cast<std::int64_t>(c) * (cell_width + kGap), sheet);
    y += cell_height;
  }
  return sheet;
}

std::vector<std::uint8_t> encode_png(const RgbImage& picture) {
  std::vector<std::uint8_t> bytes;
  const auto append = [](void* to, void* data, int size) {
    const auto* const begin = static_cast<const std::uint8_t*>(data);
    static_cast<std::vector<std::uint8_t>*>(to)->insert(static_cast<std::vector<std::uint8_t>*>(to)->end(), begin,
                                                        begin + size);
  };
  constexpr int kRgb = 3;
  if (stbi_write_png_to_func(append, &bytes, static_cast<int>(picture.width), static_cast<int>(picture.height), kRgb,
                             picture.rgb.data(), static_cast<int>(picture.width) * kRgb) == 0)
    throw Error(ErrorKind::kMemory, "the picture could not be packed as PNG");
  return bytes;
}

RgbImage image_of(const float* values, std::int64_t height, std::int64_t width, std::int64_t channels, float low,
                  float high) {
  RgbImage picture(height, width);
  const float scale = high > low ? 255.0F / (high - low) : 0.0F;
  for (std::int64_t i = 0; i < height * width; ++i)
    for (std::int64_t c = 0; c < 3; ++c) {
      const float value = values[i * channels + (channels >= 3 ? c : 0)];
      const float byte = std::clamp((value - low) * scale, 0.0F, 255.0F);
      picture.rgb[static_cast<std::size_t>(i * 3 + c)] =
          static_cast<std::uint8_t>(std::isfinite(byte) ? std::lround(byte) : 0);
    }
  return picture;
}

}  // namespace dptrain::data
