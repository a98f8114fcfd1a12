#include "kernels/cpu/lrn.h"

#include <gtest/gtest.h>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using test::agrees;
using test::at;
using test::random_floats;
using test::written_floats;

struct LrnCase {
  Lrn lrn;
  int64_t pixels, channels;
};

const LrnCase kLrnCases[] = {{{5, 1.0F, 1.0F, 0.5F}, 3, 5},  // the window is wider than the channels
                             {{4, 1.0F, 0.001F / 9.0F, 0.75F}, 700, 64},
                             {{2, 2.0F, 0.5F, 1.0F}, 7, 35},
                             {{1, 1.5F, 0.3F, 0.6F}, 300, 17},
                             {{0, 1.0F, 2.0F, 0.75F}, 2, 3},
                             {{3, 1.0F, 0.1F, 0.75F}, 5, 1}};

struct Reference {
  std::vector<double> y, scale, dx;
};

Reference reference(const LrnCase& c, const std::vector<float>& x, const std::vector<float>& dy) {
  const double bias = static_cast<double>(c.lrn.bias), alpha = static_cast<double>(c.lrn.alpha),
               beta = static_cast<double>(c.lrn.beta);
  Reference r;
  const auto over_window = [&](int64_t i, const std::function<double(int64_t)>& f) {
    const int64_t first = i / c.channels * c.channels, channel = i % c.channels;
    double sum = 0.0;
    for (int64_t k = std::max<int64_t>(0, channel - c.lrn.radius);
         k <= std::min(c.channels - 1, channel + c.lrn.radius); ++k)
      sum += f(first + k);
    return sum;
  };
  const int64_t n = c.pixels * c.channels;
  for (int64_t i = 0; i < n; ++i) {
    r.scale.push_back(bias + alpha * over_window(i, [&](int64_t k) { return at(x, k) * at(x, k); }));
    r.y.push_back(at(x, i) * std::pow(r.scale.back(), -beta));
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto s = [&](int64_t k) { return r.scale[static_cast<size_t>(k)]; };
    const double spread = over_window(i, [&](int64_t k) { return at(dy, k) * at(x, k) * std::pow(s(k), -beta - 1.0); });
    r.dx.push_back(at(dy, i) * std::pow(s(i), -beta) - 2.0 * alpha * beta * at(x, i) * spread);
  }
  return r;
}

TEST(Lrn, ForwardAndBackward) {
  for (const LrnCase& c : kLrnCases) {
    const int64_t n = c.pixels * c.channels;
    SCOPED_TRACE(testing::Message() << c.pixels << " x " << c.channels << ", radius " << c.lrn.radius);
    const std::vector<float> x = random_floats(n, 1), dy = random_floats(n, 2);
    const Reference expected = reference(c, x, dy);
    const int64_t scratch = lrn_workspace(c.lrn, c.pixels, c.channels);
    const auto with_workspace = [&](const std::function<void(float* workspace, float* out)>& run) {
      return written_floats(
          n, [&](float* out) { written_floats(scratch, [&](float* workspace) { run(workspace, out); }); });
    };
    std::vector<float> scale;
    agrees(expected.y, 2e-6, 1e-7, [&] {
      return with_workspace([&](float* workspace, float* y) {
        scale = written_floats(
            n, [&](float* kept) { lrn_forward(c.lrn, x.data(), c.pixels, c.channels, workspace, y, kept); });
        test::expect_near(expected.scale, scale, 2e-6, 0.0);
      });
    });
    agrees(expected.y, 2e-6, 1e-7, [&] {
      return with_workspace([&](float* workspace, float* y) {
        std::memcpy(y, x.data(), x.size() * sizeof(float));
        lrn_forward(c.lrn, y, c.pixels, c.channels, workspace, y, nullptr);
      });
    });
    for (const bool kept : {true, false}) {
      agrees(expected.dx, 5e-6, 2e-6, [&] {
        return with_workspace([&](float* workspace, float* dx) {
          lrn_backward(c.lrn, x.data(), kept ? scale.data() : nullptr, dy.data(), c.pixels, c.channels, workspace, dx);
        });
      });
    }
    agrees(expected.dx, 5e-6, 2e-6, [&] {
      return with_workspace([&](float* workspace, float* dx) {
        std::memcpy(dx, dy.data(), dy.size() * sizeof(float));
        lrn_backward(c.lrn, x.data(), scale.data(), dx, c.pixels, c.channels, workspace, dx);
      });
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
