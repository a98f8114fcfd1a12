#pragma once

// Small pictures side by side as one PNG: what a data set looks like. Pure functions; any thread.

#include <cstdint>
#include <string>
#include <vector>

namespace dptrain::data {

/// A picture of bytes, RGB.
struct RgbImage {
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> rgb;

  RgbImage(std::int64_t h, std::int64_t w, std::uint8_t value = 255)
      : height(h), width(w), rgb(static_cast<std::size_t>(h * w * 3), value) {}
};

/// One row of the sheet: what it is, and its pictures from left to right.
struct SheetRow {
  std::string label;
  std::vector<RgbImage> pictures;
};

/// Rows below each other, each under its label; columns under their titles, of the width of the widest picture.
/// Pictures below `least` pixels in height and width are enlarged by a whole factor.
RgbImage contact_sheet(const std::vector<std::string>& titles, const std::vector<SheetRow>& rows, std::int64_t least);

/// The file's bytes.
std::vector<std::uint8_t> encode_png(const RgbImage& picture);

/// [H, W, C] of 1, 3 or 4 channels (the first three are shown); 2 and others by the first channel alone. Values from
/// `low` to `high` become 0 to 255.
RgbImage image_of(const float* values, std::int64_t height, std::int64_t width, std::int64_t channels, float low,
                  float high);

}  // namespace dptrain::data
