#include "kernels/cuda/pad.h"

#include "kernels_cuda/support.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(GpuPad, PadsWithZerosAndRemovesThem) {
  const std::int64_t rows = 3;
  for (const Padding& p : {Padding{4, 3, 5, 1, 2, 0, 3}, Padding{2, 6, 16, 3, 3, 3, 3}, Padding{1, 1, 2, 0, 0, 0, 0},
                           Padding{3, 2, 4, 0, 1, 2, 0}}) {
    on_every_type([&](DType type, int offset) {
      const std::int64_t out_h = p.top + p.in_h + p.bottom, out_w = p.left + p.in_w + p.right;
      const std::int64_t in_size = rows * p.in_h * p.in_w * p.channels, out_size = rows * out_h * out_w * p.channels;
      const Tensor x(type, random_floats(in_size, 1), offset), dy(type, random_floats(out_size, 2), offset);
      Tensor y(type, out_size, offset), dx(type, in_size, offset);
      zero_pad_forward(test_launch(), type, p, x.data(), rows, y.data());
      zero_pad_backward(test_launch(), type, p, dy.data(), rows, dx.data());

      std::vector<float> padded(static_cast<std::size_t>(out_size), 0.0F), cut;
      const std::vector<float> from = x.read(), g = dy.read();
      std::size_t next = 0;
      for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t h = 0; h < p.in_h; ++h)
          for (std::int64_t w = 0; w < p.in_w; ++w)
            for (std::int64_t c = 0; c < p.channels; ++c) {
              const auto to =
                  static_cast<std::size_t>(((row * out_h + p.top + h) * out_w + p.left + w) * p.channels + c);
              padded[to] = from[next++];
              cut.push_back(g[to]);
            }
      EXPECT_EQ(y.read(), padded);
      EXPECT_EQ(dx.read(), cut);
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::DPTRAIN_BACKEND
