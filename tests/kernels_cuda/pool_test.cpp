#include "kernels/cuda/pool.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

constexpr std::int64_t kRows = 3;

/// in_h, in_w, channels, out_h, out_w, kernel, strides, padding before.
const std::vector<PoolWindow>& windows() {
  static const std::vector<PoolWindow> list{
      {4, 4, 8, 2, 2, 2, 2, 2, 2, 0, 0},      // 2x2, whole packs
      {5, 7, 5, 2, 3, 2, 2, 2, 2, 0, 0},      // a remaining row and column
      {5, 7, 16, 3, 4, 3, 3, 2, 2, 1, 1},     // overlapping, padded
      {6, 5, 3, 6, 5, 3, 3, 1, 1, 1, 1},      // every position is covered nine times
      {7, 6, 8, 2, 2, 2, 3, 4, 3, 0, 0},      // lines between the windows
      {3, 3, 4, 1, 1, 5, 5, 1, 1, 1, 1},      // wider than the input
      {15, 17, 2, 1, 1, 15, 17, 1, 1, 0, 0},  // the largest window
      {6, 4, 1, 3, 1, 2, 4, 2, 4, 0, 0},
  };
  return list;
}

struct Sizes {
  std::int64_t in, out;
  explicit Sizes(const PoolWindow& w)
      : in(kRows * w.in_h * w.in_w * w.channels), out(kRows * w.out_h * w.out_w * w.channels) {}
};

/// Calls f(output element, input element, position in the window) for all positions inside the input, in order.
void each_position(const PoolWindow& w, const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& f) {
  for (std::int64_t o = 0; o < Sizes(w).out; ++o) {
    const std::int64_t c = o % w.channels, ow = o / w.channels % w.out_w, oh = o / w.channels / w.out_w % w.out_h;
    const std::int64_t row = o / w.channels / w.out_w / w.out_h;
    for (std::int64_t k = 0; k < w.kernel_h * w.kernel_w; ++k) {
      const std::int64_t h = oh * w.stride_h - w.pad_top + k / w.kernel_w;
      const std::int64_t v = ow * w.stride_w - w.pad_left + k % w.kernel_w;
      if (h < 0 || h >= w.in_h || v < 0 || v >= w.in_w) continue;
      f(o, ((row * w.in_h + h) * w.in_w + v) * w.channels + c, k);
    }
  }
}

void on_every_window(const std::function<void(const PoolWindow&, DType, int)>& f) {
  for (std::size_t i = 0; i < windows().size(); ++i) {
    SCOPED_TRACE("window " + std::to_string(i));
    on_every_type([&](DType type, int offset) { f(windows()[i], type, offset); });
  }
}

/// Few different values, so that there are ties.
std::vector<float> coarse(std::int64_t n, std::uint32_t seed) {
  std::vector<float> values = random_floats(n, seed, -4.0F, 4.0F);
  for (float& value : values) value = std::round(value);
  return values;
}

struct Largest {
  std::vector<float> value;
  std::vector<std::uint8_t> argmax;
  std::vector<std::int64_t> source;
};

Largest largest(const PoolWindow& w, const std::vector<float>& x) {
  const std::size_t n = static_cast<std::size_t>(Sizes(w).out);
  Largest found{std::vector<float>(n, -std::numeric_limits<float>::infinity()), std::vector<std::uint8_t>(n),
                std::vector<std::int64_t>(n)};
  each_position(w, [&](std::int64_t out, std::int64_t in, std::int64_t k) {
    const auto o = static_cast<std::size_t>(out), i = static_cast<std::size_t>(in);
    if (!(x[i] > found.value[o])) return;
    found.value[o] = x[i];
    found.argmax[o] = static_cast<std::uint8_t>(k);
    found.source[o] = in;
  });
  return found;
}

TEST(GpuMaxPool, ReturnsTheFirstLargest) {
  on_every_window([](const PoolWindow& w, DType type, int offset) {
    const Sizes size(w);
    const Tensor x(type, coarse(size.in, 1), offset);
    const Largest expected = largest(w, x.read());
    Tensor y(type, size.out, offset), evaluated(type, size.out, offset);
    Array<std::uint8_t> argmax(size.out, offset);
    max_pool_forward(test_launch(), type, w, x.data(), kRows, y.data(), argmax.data());
    EXPECT_EQ(y.read(), expected.value);
    EXPECT_EQ(argmax.read(), expected.argmax);
    max_pool_forward(test_launch(), type, w, x.data(), kRows, evaluated.data(), nullptr);
    EXPECT_EQ(evaluated.read(), expected.value);
  });
}

TEST(GpuMaxPool, Backward) {
  on_every_window([](const PoolWindow& w, DType type, int offset) {
    const Sizes size(w);
    const Tensor x(type, coarse(size.in, 2), offset), dy(type, random_floats(size.out, 3), offset);
    const Largest forward = largest(w, x.read());
    const Tensor y(type, forward.value, offset);
    const Array<std::uint8_t> argmax(forward.argmax, offset);
    const std::vector<float> g = dy.read();
    for (const bool relu : {false, true}) {
      std::vector<double> expected(static_cast<std::size_t>(size.in));
      for (std::size_t o = 0; o < g.size(); ++o)
        if (!relu || forward.value[o] > 0.0F)
          expected[static_cast<std::size_t>(forward.source[o])] += static_cast<double>(g[o]);
      Tensor dx(type, size.in, offset);
      max_pool_backward(test_launch(), type, w, dy.data(), argmax.data(), relu ? y.data() : nullptr, kRows, dx.data());
      expect_near(type, expected, dx.read(), 1e-6, 2e-6);
    }
  });
}

TEST(GpuAvgPool, IgnoresPadding) {
  on_every_window([](const PoolWindow& w, DType type, int offset) {
    const Sizes size(w);
    const Tensor x(type, random_floats(size.in, 4), offset), dy(type, random_floats(size.out, 5), offset);
    const std::vector<float> values = x.read(), g = dy.read();
    std::vector<double> mean(static_cast<std::size_t>(size.out)), count(mean.size()),
        gradient(static_cast<std::size_t>(size.in));
    each_position(w, [&](std::int64_t out, std::int64_t in, std::int64_t) {
      mean[static_cast<std::size_t>(out)] += at(values, in);
      count[static_cast<std::size_t>(out)] += 1;
    });
    for (std::size_t o = 0; o < mean.size(); ++o) mean[o] /= count[o];
    each_position(w, [&](std::int64_t out, std::int64_t in, std::int64_t) {
      gradient[static_cast<std::size_t>(in)] += at(g, out) / count[static_cast<std::size_t>(out)];
    });
    Tensor y(type, size.out, offset), dx(type, size.in, offset);
    avg_pool_forward(test_launch(), type, w, x.data(), kRows, y.data());
    expect_near(type, mean, y.read(), 1e-5, 1e-6);
    avg_pool_backward(test_launch(), type, w, dy.data(), kRows, dx.data());
    expect_near(type, gradient, dx.read(), 1e-5, 1e-6);
  });
}

struct Image {
  std::int64_t spatial, channels;
};
// The last ones: around a tile of 32 channels, whose positions 8 threads add.
const std::vector<Image> kImages{{1, 1}, {49, 5}, {12, 24}, {300, 8}, {9, 272}, {7, 31}, {8, 32}, {9, 33}, {17, 65}};

TEST(GpuGlobalPool, Averages) {
  for (const auto& [spatial, channels] : kImages) {
    on_every_type([spatial = spatial, channels = channels](DType type, int offset) {
      const std::int64_t n = kRows * spatial * channels, out = kRows * channels;
      const Tensor x(type, random_floats(n, 6), offset), dy(type, random_floats(out, 7), offset);
      const std::vector<float> values = x.read(), g = dy.read();
      std::vector<double> mean(static_cast<std::size_t>(out)), gradient;
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t o = i / (spatial * channels) * channels + i % channels;
        mean[static_cast<std::size_t>(o)] += at(values, i) / static_cast<double>(spatial);
        gradient.push_back(at(g, o) / static_cast<double>(spatial));
      }
      Tensor y(type, out, offset), dx(type, n, offset);
      global_avg_forward(test_launch(), type, x.data(), kRows, spatial, channels, y.data());
      expect_near(type, mean, y.read(), 1e-5, 1e-6);
      EXPECT_EQ(x.read(), values);
      global_avg_backward(test_launch(), type, dy.data(), kRows, spatial, channels, dx.data());
      expect_near(type, gradient, dx.read());
    });
  }
}

TEST(GpuGlobalPool, ReturnsTheFirstLargest) {
  for (const auto& [spatial, channels] : kImages) {
    on_every_type([spatial = spatial, channels = channels](DType type, int offset) {
      const std::int64_t n = kRows * spatial * channels, out = kRows * channels;
      const Tensor x(type, coarse(n, 8), offset), dy(type, random_floats(out, 9), offset);
      const std::vector<float> values = x.read(), g = dy.read();
      std::vector<float> value, gradient(static_cast<std::size_t>(n), 0.0F);
      std::vector<std::int32_t> positions;
      for (std::int64_t o = 0; o < out; ++o) {
        const auto index = [&](std::int64_t s) {
          return static_cast<std::size_t>((o / channels * spatial + s) * channels + o % channels);
        };
        std::int64_t best = 0;
        for (std::int64_t s = 1; s < spatial; ++s)
          if (values[index(s)] > values[index(best)]) best = s;
        value.push_back(values[index(best)]);
        positions.push_back(static_cast<std::int32_t>(best));
        gradient[index(best)] = g[static_cast<std::size_t>(o)];
      }
      Tensor y(type, out, offset), evaluated(type, out, offset), dx(type, n, offset);
      Array<std::int32_t> argmax(out, offset);
      global_max_forward(test_launch(), type, x.data(), kRows, spatial, channels, y.data(), argmax.data());
      EXPECT_EQ(y.read(), value);
      EXPECT_EQ(argmax.read(), positions);
      global_max_forward(test_launch(), type, x.data(), kRows, spatial, channels, evaluated.data(), nullptr);
      EXPECT_EQ(evaluated.read(), value);
      global_max_backward(test_launch(), type, dy.data(), argmax.data(), kRows, spatial, channels, dx.data());
      EXPECT_EQ(dx.read(), gradient);
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
