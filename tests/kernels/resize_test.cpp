#include "kernels/cpu/resize.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::random_floats;
using test::written_floats;

std::vector<uint8_t> random_bytes(int64_t n, uint32_t seed) {
  std::vector<uint8_t> bytes;
  for (const float f : random_floats(n, seed, 0, 256)) bytes.push_back(static_cast<uint8_t>(std::min(f, 255.0F)));
  return bytes;
}

/// Two to five taps at random places.
struct Axis {
  std::vector<int32_t> first;
  std::vector<float> weights;
  ResizeAxis get;

  Axis(int64_t in, int64_t out, int64_t taps, uint32_t seed) : weights(random_floats(taps * out, seed, 0, 1)) {
    for (const float place : random_floats(out, seed + 1, 0, static_cast<float>(in - taps + 1)))
      first.push_back(std::min(static_cast<int32_t>(place), static_cast<int32_t>(in - taps)));
    first.back() = static_cast<int32_t>(in - taps);  // includes the last pixel of the row
    get = {out, taps, first.data(), weights.data()};
  }
  double weight(int64_t t, int64_t i) const { return test::at(weights, t * get.size + i); }
};

struct Map {
  std::vector<float> scale, offset;
  PixelMap get;

  Map(int64_t channels, bool reverse)
      : scale(random_floats(channels, 5)),
        offset(random_floats(channels, 6)),
        get{scale.data(), offset.data(), reverse} {}
  /// Channel c of the result.
  double operator()(const std::vector<double>& pixel, size_t c) const {
    const double x = pixel[get.reverse ? pixel.size() - 1 - c : c];
    return x * static_cast<double>(scale[c]) + static_cast<double>(offset[c]);
  }
};

struct ResizeCase {
  int64_t height, width, channels, out_height, out_width, row_taps, column_taps;
};

const ResizeCase kResizeCases[] = {{5, 7, 3, 4, 3, 2, 2},  {9, 33, 3, 5, 40, 3, 5}, {6, 5, 1, 7, 37, 2, 2},
                                   {6, 50, 1, 3, 9, 4, 5}, {4, 21, 4, 3, 11, 2, 2}, {7, 6, 4, 2, 5, 5, 3},
                                   {5, 8, 2, 3, 4, 2, 3},  {3, 9, 5, 4, 6, 1, 2},   {1, 1, 3, 2, 2, 1, 1},
                                   {8, 3, 3, 1, 1, 2, 2}};

template <class T>
void check_resize(const ResizeCase& c, const std::vector<T>& image, int64_t stride, bool reverse) {
  const Axis rows(c.height, c.out_height, c.row_taps, 11), columns(c.width, c.out_width, c.column_taps, 21);
  const Map map(c.channels, reverse);
  std::vector<double> expected;
  for (int64_t y = 0; y < c.out_height; ++y)
    for (int64_t x = 0; x < c.out_width; ++x) {
      std::vector<double> pixel(static_cast<size_t>(c.channels));
      for (int64_t ch = 0; ch < c.channels; ++ch)
        for (int64_t s = 0; s < c.row_taps; ++s)
          for (int64_t t = 0; t < c.column_taps; ++t) {
            const int64_t row = rows.first[static_cast<size_t>(y)] + s,
                          column = columns.first[static_cast<size_t>(x)] + t;
            pixel[static_cast<size_t>(ch)] +=
                rows.weight(s, y) * columns.weight(t, x) *
                static_cast<double>(image[static_cast<size_t>(row * stride + column * c.channels + ch)]);
          }
      for (size_t ch = 0; ch < pixel.size(); ++ch) expected.push_back(map(pixel, ch));
    }
  const Pixels<T> in{image.data(), c.height, c.width, c.channels, stride};
  // Up to 25 products of 255, rounded one after another.
  agrees(expected, 1e-5, 1e-3, [&] {
    std::vector<float> work(static_cast<size_t>(resize_workspace(c.width, c.channels)));
    return written_floats(static_cast<int64_t>(expected.size()),
                          [&](float* out) { resize(in, rows.get, columns.get, map.get, work.data(), out); });
  });
}

TEST(Resize, IsTwoWeightedSums) {
  for (const ResizeCase& c : kResizeCases) {
    const int64_t stride = c.width * c.channels + 4, n = (c.height - 1) * stride + c.width * c.channels;
    SCOPED_TRACE(testing::Message() << c.height << "x" << c.width << "x" << c.channels);
    for (const bool reverse : {false, true}) {
      check_resize(c, random_bytes(n, 1), stride, reverse);
      check_resize(c, random_floats(n, 2, -100, 100), stride, reverse);
    }
  }
}

TEST(PickPixels, CopiesPixelsUnchanged) {
  const std::vector<uint8_t> image = random_bytes(5 * 4 * 3, 3);
  const std::vector<float> floats(image.begin(), image.end());
  const std::vector<int32_t> rows{4, 0, 2}, columns{3, 3, 0, 1, 2};
  const Map map(3, true);
  std::vector<double> expected;
  std::vector<uint8_t> plain;
  for (const int32_t y : rows)
    for (const int32_t x : columns) {
      std::vector<double> pixel;
      for (int32_t c = 0; c < 3; ++c) {
        plain.push_back(image[static_cast<size_t>((y * 4 + x) * 3 + c)]);
        pixel.push_back(plain.back());
      }
      for (size_t c = 0; c < 3; ++c) expected.push_back(map(pixel, c));
    }
  const auto n = static_cast<int64_t>(expected.size());
  const Pixels<uint8_t> in{image.data(), 5, 4, 3, 12};
  agrees(expected, 1e-6, 1e-5, [&] {
    return written_floats(n, [&](float* out) { pick_pixels(in, rows.data(), 3, columns.data(), 5, map.get, out); });
  });
  agrees(expected, 1e-6, 1e-5, [&] {
    return written_floats(n, [&](float* out) {
      pick_pixels(Pixels<float>{floats.data(), 5, 4, 3, 12}, rows.data(), 3, columns.data(), 5, map.get, out);
    });
  });
  EXPECT_EQ(
      test::written<uint8_t>(n, 0xA5, [&](uint8_t* out) { pick_pixels(in, rows.data(), 3, columns.data(), 5, out); }),
      plain);
}

TEST(MapPixels, MirrorsAndMaps) {
  struct Size {
    int64_t height, width, channels;
  };
  for (const Size& s : {Size{3, 5, 3}, {2, 19, 1}, {4, 3, 4}, {3, 2, 2}, {1, 1, 3}, {5, 1, 3}, {1, 77, 1}, {2, 3, 6}}) {
    const int64_t row = s.width * s.channels, stride = row + 3;
    const std::vector<uint8_t> bytes = random_bytes((s.height - 1) * stride + row, 7);
    const std::vector<float> floats(bytes.begin(), bytes.end());
    for (int mode = 0; mode < 16; ++mode) {
      const bool x_mirror = (mode & 1) != 0, y_mirror = (mode & 2) != 0;
      Map map(s.channels, (mode & 4) != 0);
      if ((mode & 8) != 0) {  // one map for all channels
        std::fill(map.scale.begin(), map.scale.end(), 0.5F);
        std::fill(map.offset.begin(), map.offset.end(), -3.0F);
      }
      std::vector<double> expected;
      for (int64_t y = 0; y < s.height; ++y)
        for (int64_t x = 0; x < s.width; ++x) {
          const int64_t from =
              (y_mirror ? s.height - 1 - y : y) * stride + (x_mirror ? s.width - 1 - x : x) * s.channels;
          std::vector<double> pixel;
          for (int64_t c = 0; c < s.channels; ++c) pixel.push_back(bytes[static_cast<size_t>(from + c)]);
          for (size_t c = 0; c < pixel.size(); ++c) expected.push_back(map(pixel, c));
        }
      const auto run = [&](const auto& image) {
        return [&] {
          using T = typename std::decay_t<decltype(image)>::value_type;
          return written_floats(s.height * row, [&](float* out) {
            map_pixels(Pixels<T>{image.data(), s.height, s.width, s.channels, stride}, map.get, x_mirror, y_mirror, out,
                       row);
          });
        };
      };
      agrees(expected, 1e-6, 1e-4, run(bytes));
      agrees(expected, 1e-6, 1e-4, run(floats));
    }
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
