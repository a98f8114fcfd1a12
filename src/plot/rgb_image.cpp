#include "plot/rgb_image.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

namespace dptrain::plot {
namespace {

struct Size {
  std::int64_t height, width;
};

/// At most `most` pixels high and wide, with the same ratio of the sides.
Size fitting(std::int64_t height, std::int64_t width, std::int64_t most) {
  const std::int64_t largest = std::max(height, width);
  if (largest <= most) return {height, width};
  return {std::max<std::int64_t>(1, height * most / largest), std::max<std::int64_t>(1, width * most / largest)};
}

}  // namespace

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
  const auto [height, width] = fitting(image.height, image.width, most);
  if (height == image.height && width == image.width) return image;
  RgbImage small(height, width);
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

ClassMap resized(const ClassMap& map, std::int64_t height, std::int64_t width) {
  ClassMap out{.height = height, .width = width};
  out.classes.reserve(static_cast<std::size_t>(height * width));
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      const std::int64_t row = (2 * y + 1) * map.height / (2 * height);  // of the pixel that contains the center
      const std::int64_t column = (2 * x + 1) * map.width / (2 * width);
      out.classes.push_back(map.classes[static_cast<std::size_t>(row * map.width + column)]);
    }
  return out;
}

ClassMap shrunk(const ClassMap& map, std::int64_t most) {
  const auto [height, width] = fitting(map.height, map.width, most);
  return resized(map, height, width);
}

RgbImage gray(const RgbImage& image) {
  RgbImage out = image;
  for (std::size_t i = 0; i < out.rgb.size(); i += 3) {
    const int luminance = (299 * out.rgb[i] + 587 * out.rgb[i + 1] + 114 * out.rgb[i + 2] + 500) / 1000;
    std::fill_n(out.rgb.data() + i, 3, static_cast<std::uint8_t>(luminance));
  }
  return out;
}

RgbImage overlaid(const RgbImage& image, const ClassMap& map, const std::vector<std::optional<Rgb>>& colors) {
  constexpr std::int64_t kStripes = 32;  // across the image, from corner to corner
  const ClassMap fitted = resized(map, image.height, image.width);
  const std::int64_t stripe = std::max<std::int64_t>(1, (image.height + image.width) / (2 * kStripes));
  RgbImage out = image;
  for (std::int64_t i = 0; i < image.height * image.width; ++i) {
    const std::int32_t of_class = fitted.classes[static_cast<std::size_t>(i)];
    std::uint8_t* const pixel = out.rgb.data() + 3 * i;
    if (of_class == ClassMap::kIgnored) {
      if ((i / image.width + i % image.width) / stripe % 2 == 0) std::fill_n(pixel, 3, std::uint8_t{255});
    } else if (static_cast<std::size_t>(of_class) < colors.size() && colors[static_cast<std::size_t>(of_class)]) {
      const Rgb& color = *colors[static_cast<std::size_t>(of_class)];
      for (std::size_t c = 0; c < 3; ++c) pixel[c] = static_cast<std::uint8_t>((pixel[c] + color[c] + 1) / 2);
    }
  }
  return out;
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
