#include "plot/rgb_image.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace dptrain::plot {

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
    throw Error(ErrorKind::kMemory, "cannot compress the picture as PNG");
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

RgbImage shrunk(const RgbImage& image, std::int64_t most) {
  const std::int64_t largest = std::max(image.height, image.width);
  if (largest <= most) return image;
  const auto fitting = [&](std::int64_t side) { return std::max<std::int64_t>(1, side * most / largest); };
  RgbImage small(fitting(image.height), fitting(image.width));
  for (std::int64_t y = 0; y < small.height; ++y)
    for (std::int64_t x = 0; x < small.width; ++x) {
      const std::int64_t top = y * image.height / small.height, bottom = (y + 1) * image.height / small.height;
      const std::int64_t left = x * image.width / small.width, right = (x + 1) * image.width / small.width;
      for (std::int64_t c = 0; c < 3; ++c) {
        std::int64_t sum = 0;
        for (std::int64_t i = top; i < bottom; ++i)
          for (std::int64_t j = left; j < right; ++j)
            sum += image.rgb[static_cast<std::size_t>((i * image.width + j) * 3 + c)];
        const std::int64_t pixels = (bottom - top) * (right - left);
        small.rgb[static_cast<std::size_t>((y * small.width + x) * 3 + c)] =
            static_cast<std::uint8_t>((sum + pixels / 2) / pixels);
      }
    }
  return small;
}

RgbImage enlarged(const RgbImage& image, std::int64_t factor) {
  RgbImage large(image.height * factor, image.width * factor);
  for (std::int64_t y = 0; y < large.height; ++y)
    for (std::int64_t x = 0; x < large.width; ++x)
      std::copy_n(image.rgb.begin() + (y / factor * image.width + x / factor) * 3, 3,
                  large.rgb.begin() + (y * large.width + x) * 3);
  return large;
}

RgbImage tiled(const std::vector<RgbImage>& images, std::int64_t columns, std::int64_t gap) {
  const auto count = static_cast<std::int64_t>(images.size());
  columns = std::min(columns, count);
  const std::int64_t rows = (count + columns - 1) / columns;
  std::int64_t height = 0, width = 0;
  for (const RgbImage& image : images) height = std::max(height, image.height), width = std::max(width, image.width);
  RgbImage sheet(rows * (height + gap) - gap, columns * (width + gap) - gap);
  for (std::int64_t i = 0; i < count; ++i) {
    const RgbImage& image = images[static_cast<std::size_t>(i)];
    const std::int64_t top = i / columns * (height + gap), left = i % columns * (width + gap);
    for (std::int64_t y = 0; y < image.height; ++y)
      std::copy_n(image.rgb.begin() + y * image.width * 3, image.width * 3,
                  sheet.rgb.begin() + ((top + y) * sheet.width + left) * 3);
  }
  return sheet;
}

}  // namespace dptrain::plot
