#include "kernels/cpu/pad.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

TEST(ZeroPad, ForwardAndBackward) {
  for (const auto& shape : {std::pair<Padding, int64_t>{{3, 2, 5, 1, 2, 0, 3}, 3},
                            {{1, 1, 1, 0, 0, 0, 0}, 1},
                            {{30, 40, 8, 3, 3, 3, 3}, 9}}) {
    const Padding& p = shape.first;
    const int64_t rows = shape.second;
    const int64_t out_h = p.in_h + p.top + p.bottom, out_w = p.in_w + p.left + p.right;
    const int64_t in = rows * p.in_h * p.in_w * p.channels, out = rows * out_h * out_w * p.channels;
    const std::vector<float> x = random_floats(in, 1), dy = random_floats(out, 2);
    std::vector<double> y(static_cast<size_t>(out)), dx(static_cast<size_t>(in));
    for (int64_t i = 0; i < in; ++i) {
      const int64_t c = i % p.channels, w = i / p.channels % p.in_w, h = i / p.channels / p.in_w % p.in_h;
      const int64_t row = i / p.channels / p.in_w / p.in_h;
      const int64_t place = ((row * out_h + h + p.top) * out_w + w + p.left) * p.channels + c;
      y[static_cast<size_t>(place)] = at(x, i);
      dx[static_cast<size_t>(i)] = at(dy, place);
    }
    agrees(y, 0.0, 0.0, [&] {
      return written_floats(out, [&](float* to) { zero_pad_forward({}, DType::kF32, p, x.data(), rows, to); });
    });
    agrees(dx, 0.0, 0.0, [&] {
      return written_floats(in, [&](float* to) { zero_pad_backward({}, DType::kF32, p, dy.data(), rows, to); });
    });
  }
}

TEST(SpreadPixels, WritesZerosBetweenPixels) {
  for (const auto& [s, rows] : {std::pair<ZeroInsertion, int64_t>{{2, 3, 5, 2, 2, 4, 5}, 3},
                                {{2, 3, 5, 2, 2, 3, 6}, 3},
                                {{3, 1, 7, 3, 2, 9, 1}, 2},
                                {{1, 1, 1, 1, 1, 1, 1}, 1},
                                {{1, 2, 3, 2, 4, 4, 7}, 2},
                                {{14, 14, 33, 2, 2, 28, 28}, 5}}) {
    const std::vector<float> x = random_floats(rows * s.in_h * s.in_w * s.channels, 5);
    const int64_t out = rows * s.out_h * s.out_w * s.channels;
    std::vector<double> y(static_cast<size_t>(out));
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t h = 0; h < s.in_h; ++h)
        for (int64_t w = 0; w < s.in_w; ++w)
          for (int64_t c = 0; c < s.channels; ++c) {
            const int64_t pixel = (row * s.out_h + h * s.stride_h) * s.out_w + w * s.stride_w;
            y[static_cast<size_t>(pixel * s.channels + c)] = at(x, ((row * s.in_h + h) * s.in_w + w) * s.channels + c);
          }
    agrees(y, 0.0, 0.0,
           [&] { return written_floats(out, [&](float* to) { insert_zero_pixels(s, x.data(), rows, to); }); });
  }
}

TEST(CopyColumns, ConcatenatesAndSplits) {
  const int64_t rows = 5000, widths[] = {3, 5}, total = 8;
  const std::vector<float> a = random_floats(rows * widths[0], 3), b = random_floats(rows * widths[1], 4);
  std::vector<double> joined;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < widths[0]; ++c) joined.push_back(at(a, row * widths[0] + c));
    for (int64_t c = 0; c < widths[1]; ++c) joined.push_back(at(b, row * widths[1] + c));
  }
  agrees(joined, 0.0, 0.0, [&] {
    return written_floats(rows * total, [&](float* y) {
      copy_columns({}, DType::kF32, a.data(), widths[0], y, total, rows, widths[0]);
      copy_columns({}, DType::kF32, b.data(), widths[1], y + widths[0], total, rows, widths[1]);
    });
  });
  const std::vector<float> y(joined.begin(), joined.end());
  agrees(test::exactly(b), 0.0, 0.0, [&] {
    return written_floats(rows * widths[1], [&](float* part) {
      copy_columns({}, DType::kF32, y.data() + widths[0], total, part, widths[1], rows, widths[1]);
    });
  });
}

}  // namespace
}  // namespace dptrain::kernels::cpu
