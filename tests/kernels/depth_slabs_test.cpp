#include "kernels/cpu/depth_slabs.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/support.h"

namespace dptrain::kernels::cpu {
namespace {

/// Calls f(index in the slabs, index in the volume or -1) for every element of the slabs.
template <class F>
void for_each_slab_element(const DepthWindow& w, std::int64_t rows, const F& f) {
  std::int64_t slab = 0;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < w.out_d; ++o)
      for (std::int64_t p = 0; p < w.positions; ++p)
        for (std::int64_t g = 0; g < w.groups; ++g)
          for (std::int64_t k = 0; k < w.kernel; ++k)
            for (std::int64_t c = 0; c < w.channels; ++c) {
              const std::int64_t d = o * w.stride + k * w.dilation - w.pad;
              const bool inside = d >= 0 && d < w.in_d;
              f(slab++,
                inside ? (((r * w.in_d + d) * w.positions + p) * w.groups + g) * w.channels + c : std::int64_t{-1});
            }
}

void check_slabs(const DepthWindow& w) {
  constexpr std::int64_t kRows = 3;
  const auto volume = test::random_floats(kRows * w.volume_elements(), 1),
             slabs = test::random_floats(kRows * w.slab_elements(), 2);
  std::vector<double> gathered(slabs.size()), sums(volume.size());
  for_each_slab_element(w, kRows, [&](std::int64_t slab, std::int64_t at) {
    if (at < 0) return;
    gathered[static_cast<std::size_t>(slab)] = test::at(volume, at);
    sums[static_cast<std::size_t>(at)] += test::at(slabs, slab);
  });
  test::agrees(gathered, 0, 0, [&] {
    return test::written_floats(kRows * w.slab_elements(),
                                [&](float* to) { gather_slabs(w, volume.data(), kRows, to); });
  });
  test::agrees(sums, 1e-6, 1e-6, [&] {
    return test::written_floats(kRows * w.volume_elements(), [&](float* to) { sum_slabs(w, slabs.data(), kRows, to); });
  });
}

TEST(DepthSlabs, CopyTheFramesOfTheirWindows) {
  check_slabs({4, 4, 6, 1, 17, 3, 1, 1, 1});
  check_slabs({5, 2, 2, 2, 3, 2, 2, 1, 0});
  // Frames outside all windows, and slabs that consist of padding.
  check_slabs({7, 2, 3, 1, 8, 1, 4, 1, 0});
  check_slabs({2, 2, 1, 1, 5, 3, 1, 4, 4});
}

}  // namespace
}  // namespace dptrain::kernels::cpu
