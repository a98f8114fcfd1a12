#include "kernels/cpu/pool.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

struct PoolCase {
  PoolWindow window;
  int64_t rows;
};

//                        in      c   out    kernel stride pad
const PoolCase kPoolCases[] = {
    {{4, 4, 1, 2, 2, 2, 2, 2, 2, 0, 0}, 1},
    {{7, 5, 3, 3, 2, 2, 2, 2, 2, 0, 0}, 3},  // odd sizes: the last row and column are dropped
    {{26, 26, 32, 13, 13, 2, 2, 2, 2, 0, 0}, 5},
    {{9, 6, 37, 4, 3, 2, 2, 2, 2, 0, 0}, 2},
    {{7, 7, 5, 4, 4, 2, 2, 2, 2, 0, 0}, 2},  // "same": windows over the border
    {{9, 8, 5, 5, 4, 3, 3, 2, 2, 1, 0}, 3},  // overlapping, padded above
    {{6, 6, 17, 3, 2, 2, 3, 2, 3, 0, 0}, 1},
    {{8, 10, 35, 4, 5, 3, 3, 2, 2, 0, 0}, 2},  // "same" over even sizes
    {{13, 12, 19, 7, 6, 3, 3, 2, 2, 1, 1}, 3},
    {{10, 14, 32, 4, 6, 3, 3, 2, 2, 0, 0}, 2},  // the last row and column are unused
    {{2, 3, 5, 1, 1, 3, 3, 2, 2, 1, 0}, 2},
    {{8, 7, 19, 3, 2, 2, 2, 3, 3, 0, 0}, 2},  // unused inputs between the windows
    {{5, 5, 2, 5, 5, 3, 3, 1, 1, 1, 1}, 2},
    {{15, 17, 4, 1, 1, 15, 17, 15, 17, 0, 0}, 2}};  // 255 positions

struct Position {
  int64_t input, kernel;
};

/// Calls f(output element, positions of its window) in memory order.
template <class F>
void for_each_output(const PoolCase& c, const F& f) {
  const PoolWindow& w = c.window;
  for (int64_t row = 0; row < c.rows; ++row)
    for (int64_t oh = 0; oh < w.out_h; ++oh)
      for (int64_t ow = 0; ow < w.out_w; ++ow)
        for (int64_t channel = 0; channel < w.channels; ++channel) {
          std::vector<Position> positions;
          for (int64_t kh = 0; kh < w.kernel_h; ++kh)
            for (int64_t kw = 0; kw < w.kernel_w; ++kw) {
              const int64_t h = oh * w.stride_h - w.pad_top + kh, v = ow * w.stride_w - w.pad_left + kw;
              if (h >= 0 && h < w.in_h && v >= 0 && v < w.in_w)
                positions.push_back({((row * w.in_h + h) * w.in_w + v) * w.channels + channel, kh * w.kernel_w + kw});
            }
          f(((row * w.out_h + oh) * w.out_w + ow) * w.channels + channel, positions);
        }
}

int64_t in_size(const PoolCase& c) { return c.rows * c.window.in_h * c.window.in_w * c.window.channels; }
int64_t out_size(const PoolCase& c) { return c.rows * c.window.out_h * c.window.out_w * c.window.channels; }

/// Few different values, so that windows have ties; mostly negative.
std::vector<float> coarse_floats(int64_t n, uint32_t seed) {
  std::vector<float> x = random_floats(n, seed);
  for (float& value : x) value = std::round(value * 2.0F) / 2.0F;
  return x;
}

TEST(MaxPool, ForwardAndBackward) {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(testing::Message() << c.window.in_h << "x" << c.window.in_w << "x" << c.window.channels);
    const std::vector<float> x = coarse_floats(in_size(c), 1), dy = random_floats(out_size(c), 2);
    std::vector<double> y(static_cast<size_t>(out_size(c))), index(y.size());
    std::vector<double> dx(x.size()), dx_masked(x.size());
    for_each_output(c, [&](int64_t out, const std::vector<Position>& positions) {
      Position best = positions.front();
      for (const Position& p : positions)
        if (at(x, p.input) > at(x, best.input)) best = p;
      const size_t o = static_cast<size_t>(out), i = static_cast<size_t>(best.input);
      y[o] = at(x, best.input);
      index[o] = static_cast<double>(best.kernel);
      dx[i] += at(dy, out);
      if (y[o] > 0.0) dx_masked[i] += at(dy, out);
    });

    std::vector<uint8_t> argmax;
    agrees(y, 0.0, 0.0, [&] {
      return written_floats(out_size(c), [&](float* out) {
        argmax = test::written<uint8_t>(out_size(c), 0xEE, [&](uint8_t* at) {
          max_pool_forward({}, DType::kF32, c.window, x.data(), c.rows, out, at);
        });
        test::expect_near(index, {argmax.begin(), argmax.end()}, 0.0, 0.0);
      });
    });
    agrees(y, 0.0, 0.0, [&] {
      return written_floats(out_size(c), [&](float* out) {
        max_pool_forward({}, DType::kF32, c.window, x.data(), c.rows, out, nullptr);
      });
    });
    const std::vector<float> output(y.begin(), y.end());
    agrees(dx, 1e-6, 1e-6, [&] {
      return written_floats(in_size(c), [&](float* out) {
        max_pool_backward({}, DType::kF32, c.window, dy.data(), argmax.data(), nullptr, c.rows, out);
      });
    });
    agrees(dx_masked, 1e-6, 1e-6, [&] {
      return written_floats(in_size(c), [&](float* out) {
        max_pool_backward({}, DType::kF32, c.window, dy.data(), argmax.data(), output.data(), c.rows, out);
      });
    });
  }
}

TEST(AvgPool, ForwardAndBackwardLeaveOutThePadding) {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(testing::Message() << c.window.in_h << "x" << c.window.in_w << "x" << c.window.channels);
    const std::vector<float> x = random_floats(in_size(c), 3), dy = random_floats(out_size(c), 4);
    std::vector<double> y(static_cast<size_t>(out_size(c))), dx(x.size());
    for_each_output(c, [&](int64_t out, const std::vector<Position>& positions) {
      const double count = static_cast<double>(positions.size());
      for (const Position& p : positions) {
        y[static_cast<size_t>(out)] += at(x, p.input) / count;
        dx[static_cast<size_t>(p.input)] += at(dy, out) / count;
      }
    });
    agrees(y, 1e-5, 1e-6, [&] {
      return written_floats(out_size(c),
                            [&](float* out) { avg_pool_forward({}, DType::kF32, c.window, x.data(), c.rows, out); });
    });
    agrees(dx, 1e-5, 1e-6, [&] {
      return written_floats(in_size(c),
                            [&](float* out) { avg_pool_backward({}, DType::kF32, c.window, dy.data(), c.rows, out); });
    });
  }
}

TEST(GlobalPool, MeanAndMaximum) {
  struct Shape {
    int64_t rows, spatial, channels;
  };
  for (const Shape& shape : {Shape{3, 35, 5}, Shape{2, 1, 16}, Shape{4, 49, 67}, Shape{1, 600, 2}}) {
    const int64_t rows = shape.rows, spatial = shape.spatial, channels = shape.channels;
    const std::vector<float> x = coarse_floats(rows * spatial * channels, 5), dy = random_floats(rows * channels, 6);
    std::vector<double> mean(dy.size()), most(dy.size(), -1e9), place(dy.size()), d_mean(x.size()), d_most(x.size());
    for (int64_t i = 0; i < rows * spatial * channels; ++i) {
      const int64_t out = i / (spatial * channels) * channels + i % channels;
      const size_t o = static_cast<size_t>(out);
      mean[o] += at(x, i) / static_cast<double>(spatial);
      d_mean[static_cast<size_t>(i)] = at(dy, out) / static_cast<double>(spatial);
      if (at(x, i) > most[o]) {
        most[o] = at(x, i);
        place[o] = static_cast<double>(i / channels % spatial);
      }
    }
    for (int64_t out = 0; out < rows * channels; ++out) {
      const int64_t s = static_cast<int64_t>(place[static_cast<size_t>(out)]);
      d_most[static_cast<size_t>((out / channels * spatial + s) * channels + out % channels)] = at(dy, out);
    }
    agrees(mean, 1e-5, 1e-6, [&] {
      return written_floats(rows * channels, [&](float* y) {
        global_avg_forward({}, DType::kF32, x.data(), rows, spatial, channels, y);
      });
    });
    agrees(d_mean, 1e-6, 0.0, [&] {
      return written_floats(rows * spatial * channels, [&](float* dx) {
        global_avg_backward({}, DType::kF32, dy.data(), rows, spatial, channels, dx);
      });
    });
    std::vector<int32_t> argmax(dy.size());
    agrees(most, 0.0, 0.0, [&] {
      return written_floats(rows * channels, [&](float* y) {
        global_max_forward({}, DType::kF32, x.data(), rows, spatial, channels, y, argmax.data());
      });
    });
    EXPECT_EQ(place, test::exactly(argmax));
    agrees(most, 0.0, 0.0, [&] {
      return written_floats(rows * channels, [&](float* y) {
        global_max_forward({}, DType::kF32, x.data(), rows, spatial, channels, y, nullptr);
      });
    });
    agrees(d_most, 0.0, 0.0, [&] {
      return written_floats(rows * spatial * channels, [&](float* dx) {
        global_max_backward({}, DType::kF32, dy.data(), argmax.data(), rows, spatial, channels, dx);
      });
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
