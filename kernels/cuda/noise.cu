#include "kernels/cuda/noise.h"

#include "kernels/cuda/lanes.h"
#include "kernels/normal_pair.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// Four adjacent random numbers of a row.
__device__ inline Lanes<4> draw(const Noise& noise, std::int64_t row, std::int64_t group, std::int64_t step) {
  const std::uint64_t count = static_cast<std::uint64_t>(step);
  const PhiloxBlock words =
      philox4x32({{static_cast<std::uint32_t>(noise.first_row + row), static_cast<std::uint32_t>(group),
                   static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count >> 32)}},
                 {{noise.seed, noise.layer}});
  const NormalPair a = normal_pair(words.word[0], words.word[1]), b = normal_pair(words.word[2], words.word[3]);
  return {{a.first, a.second, b.first, b.second}};
}

template <bool kMultiplies>
__device__ inline float noisy(float x, float normal, float stddev) {
  return x + stddev * (kMultiplies ? normal * x : normal);
}

/// Up to four elements per thread and iteration. kWhole: all groups have four, and x and y are aligned.
template <class T, bool kMultiplies, bool kWhole>
__global__ void noise_kernel(const Noise noise, const StepState* state, const T* x, std::int64_t groups,
                             std::int64_t width, T* y) {
  const std::int64_t step = state->step, groups_per_row = (width + 3) / 4;
  for (std::int64_t i = thread_number(); i < groups; i += thread_count()) {
    const Split place = split(i, groups_per_row);
    const Lanes<4> normal = draw(noise, place.quotient, place.remainder, step);
    const std::int64_t first = place.quotient * width + place.remainder * 4;
    if constexpr (kWhole) {
      Lanes<4> value = load<4>(x + first);
      DPTRAIN_UNROLL
      for (int k = 0; k < 4; ++k) value.v[k] = noisy<kMultiplies>(value.v[k], normal.v[k], noise.stddev);
      store<4>(value, y + first);
    } else {
      DPTRAIN_UNROLL
      for (int k = 0; k < 4; ++k)
        if (place.remainder * 4 + k < width)
          y[first + k] = from_float<T>(noisy<kMultiplies>(to_float(x[first + k]), normal.v[k], noise.stddev));
    }
  }
}

template <bool kMultiplies>
void noise_pass(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
                std::int64_t rows, std::int64_t width, void* y) {
  if (rows <= 0 || width <= 0) return;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    const auto kernel =
        width % 4 == 0 && aligned(from, to) ? noise_kernel<T, kMultiplies, true> : noise_kernel<T, kMultiplies, false>;
    const std::int64_t groups = rows * ((width + 3) / 4);
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, groups), kBlock, noise, state, from, groups, width, to);
  });
}

}  // namespace

void add_noise(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
               std::int64_t rows, std::int64_t width, void* y) {
  noise_pass<false>(at, type, noise, state, x, rows, width, y);
}

void multiply_noise(const Launch& at, DType type, const Noise& noise, const StepState* state, const void* x,
                    std::int64_t rows, std::int64_t width, void* y) {
  noise_pass<true>(at, type, noise, state, x, rows, width, y);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
