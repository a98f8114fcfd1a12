#include "kernels/cpu/recurrent.h"

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

/// The merged value of two outputs, and its derivatives.
struct Pair {
  double value, of_forward, of_backward;
};
Pair pair_of(DirectionMerge merge, double f, double b) {
  switch (merge) {
    case DirectionMerge::kMul: return {f * b, b, f};
    case DirectionMerge::kAve: return {(f + b) / 2, 0.5, 0.5};
    default: return {f + b, 1, 1};
  }
}

TEST(DirectionsKernel, MergesAndSplits) {
  const int64_t rows = 3, steps = 4, units = 19;
  const int64_t positions = rows * steps, n = positions * units;
  std::vector<uint8_t> mask(static_cast<size_t>(positions), 1);
  for (const size_t left_out : {0, 5, 8, 9, 10, 11}) mask[left_out] = 0;
  const auto f = random_floats(n, 1), b = random_floats(n, 2), dy = random_floats(2 * n, 3);
  for (const DirectionMerge merge :
       {DirectionMerge::kConcat, DirectionMerge::kSum, DirectionMerge::kMul, DirectionMerge::kAve}) {
    const DirectionShape shape{rows, steps, units, merge, mask.data()};
    const bool concat = merge == DirectionMerge::kConcat;
    std::vector<double> y(static_cast<size_t>(positions * shape.width())), df(f.size()), db(b.size());
    for (int64_t p = 0; p < positions; ++p)
      for (int64_t u = 0; u < units && mask[static_cast<size_t>(p)] != 0; ++u) {
        const int64_t other = p / steps * steps + steps - 1 - p % steps;
        const auto at_f = static_cast<size_t>(p * units + u), at_b = static_cast<size_t>(other * units + u),
                   at_y = static_cast<size_t>(p * shape.width() + u);
        if (concat) {
          y[at_y] = f[at_f];
          y[at_y + static_cast<size_t>(units)] = b[at_b];
          df[at_f] = dy[at_y];
          db[at_b] = dy[at_y + static_cast<size_t>(units)];
          continue;
        }
        const Pair pair = pair_of(merge, f[at_f], b[at_b]);
        y[at_y] = pair.value;
        df[at_f] = dy[at_y] * pair.of_forward;
        db[at_b] = dy[at_y] * pair.of_backward;
      }
    const auto forward = [&] {
      return written_floats(static_cast<int64_t>(y.size()),
                            [&](float* to) { merge_directions(shape, f.data(), b.data(), to); });
    };
    const auto gradient = [&](bool of_backward) {
      return written_floats(n, [&](float* to) {
        std::vector<float> other(f.size());
        split_directions(shape, dy.data(), f.data(), b.data(), of_backward ? other.data() : to,
                         of_backward ? to : other.data());
      });
    };
    on_every_target([&] {
      for (const int threads : {1, 3}) {
        use_threads(threads);
        expect_near(y, forward(), 1e-6, 1e-6);
        expect_near(df, gradient(false), 1e-6, 1e-6);
        expect_near(db, gradient(true), 1e-6, 1e-6);
      }
    });
  }
}

}  // namespace
}  // namespace dptrain::kernels::cpu
