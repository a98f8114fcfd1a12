#include "kernels/cuda/dropout.h"

#include "kernels/cuda/dropout_draws.h"
#include "kernels/cuda/lanes.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// V elements per thread and iteration, a multiple of four that divides width.
template <class T, int V>
__global__ void dropout_wide_kernel(const Keep keep, const StepState* state, const T* x, std::int64_t packs,
                                    std::int64_t packs_per_row, T* y) {
  const std::int64_t step = state->step;
  for (std::int64_t i = thread_number(); i < packs; i += thread_count()) {
    const Split place = split(i, packs_per_row);
    Lanes<V> value = load<V>(x + i * V);
    DPTRAIN_UNROLL
    for (int group = 0; group < V / 4; ++group) {
      const PhiloxBlock block = draw(keep, place.quotient, place.remainder * (V / 4) + group, step);
      DPTRAIN_UNROLL
      for (int k = 0; k < 4; ++k) value.v[group * 4 + k] = drop(keep, block.word[k], value.v[group * 4 + k]);
    }
    store<V>(value, y + i * V);
  }
}

/// Up to four elements per thread and iteration.
template <class T>
__global__ void dropout_kernel(const Keep keep, const StepState* state, const T* x, std::int64_t groups,
                               std::int64_t width, T* y) {
  const std::int64_t step = state->step, groups_per_row = (width + 3) / 4;
  for (std::int64_t i = thread_number(); i < groups; i += thread_count()) {
    const Split place = split(i, groups_per_row);
    const PhiloxBlock block = draw(keep, place.quotient, place.remainder, step);
    DPTRAIN_UNROLL
    for (int k = 0; k < 4; ++k) {
      const std::int64_t element = place.remainder * 4 + k;
      if (element >= width) continue;
      const std::int64_t j = place.quotient * width + element;
      y[j] = from_float<T>(drop(keep, block.word[k], to_float(x[j])));
    }
  }
}

/// A thread processes V adjacent channels of a row at every `shares`th position, and draws their factors once. Adjacent
/// threads process adjacent channels, then adjacent positions.
template <class T, int V>
__global__ void spatial_dropout_kernel(const Keep keep, const StepState* state, const T* x, std::int64_t items,
                                       std::int64_t shares, std::int64_t positions, std::int64_t channels, T* y) {
  const std::int64_t step = state->step, packs = channels / V;
  for (std::int64_t i = thread_number(); i < items; i += thread_count()) {
    const Split line = split(i, packs), place = split(line.quotient, shares);
    const std::int64_t channel = line.remainder * V;
    Lanes<V> kept = all<V>(1.0F);
    if constexpr (V % 4 == 0) {
      DPTRAIN_UNROLL
      for (int group = 0; group < V / 4; ++group) {
        const PhiloxBlock block = draw(keep, place.quotient, channel / 4 + group, step);
        DPTRAIN_UNROLL
        for (int k = 0; k < 4; ++k) kept.v[group * 4 + k] = drop(keep, block.word[k], 1.0F);
      }
    } else {
      kept.v[0] = drop(keep, draw(keep, place.quotient, channel / 4, step).word[channel % 4], 1.0F);
    }
    for (std::int64_t p = place.remainder; p < positions; p += shares) {
      const std::int64_t at = (place.quotient * positions + p) * channels + channel;
      Lanes<V> value = load<V>(x + at);
      DPTRAIN_UNROLL
      for (int k = 0; k < V; ++k) value.v[k] = kept.v[k] == 0.0F ? 0.0F : value.v[k] * kept.v[k];
      store<V>(value, y + at);
    }
  }
}

/// One element per thread and iteration, each with a separate draw.
template <class T>
__global__ void broadcast_dropout_kernel(const Keep keep, const BroadcastAxes axes, const StepState* state, const T* x,
                                         std::int64_t elements, std::int64_t width, T* y) {
  const std::int64_t step = state->step;
  for (std::int64_t i = thread_number(); i < elements; i += thread_count()) {
    const Split place = split(i, width);
    const std::int64_t number = axes.place(place.remainder);
    const PhiloxBlock block = draw(keep, axes.one_row ? 0 : place.quotient, number / 4, step);
    y[i] = from_float<T>(drop(keep, block.word[number % 4], to_float(x[i])));
  }
}

}  // namespace

void dropout_forward(const Launch& at, DType type, const Dropout& dropout, const StepState* state, const void* x,
                     std::int64_t rows, std::int64_t width, void* y) {
  if (rows <= 0 || width <= 0) return;
  const Keep keep = keep_of(dropout);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    if (width % kWide == 0 && aligned(from, to)) {
      const auto kernel = dropout_wide_kernel<T, kWide>;
      const std::int64_t packs = rows * width / kWide;
      DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, packs), kBlock, keep, state, from, packs, width / kWide, to);
    } else {
      const auto kernel = dropout_kernel<T>;
      const std::int64_t groups = rows * ((width + 3) / 4);
      DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, groups), kBlock, keep, state, from, groups, width, to);
    }
  });
}

void spatial_dropout(const Launch& at, DType type, const Dropout& dropout, const StepState* state, const void* x,
                     std::int64_t rows, std::int64_t positions, std::int64_t channels, void* y) {
  if (rows <= 0 || positions <= 0 || channels <= 0) return;
  constexpr std::int64_t kPositions = 16;  // per thread; drawing costs as much as several positions
  const std::int64_t shares = (positions + kPositions - 1) / kPositions;
  const Keep keep = keep_of(dropout);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    constexpr int kWide = kVector<T>;
    const T* const from = static_cast<const T*>(x);
    T* const to = static_cast<T*>(y);
    const bool wide = channels % kWide == 0 && aligned(from, to);
    const auto kernel = wide ? spatial_dropout_kernel<T, kWide> : spatial_dropout_kernel<T, 1>;
    const std::int64_t items = rows * shares * (channels / (wide ? kWide : 1));
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, items), kBlock, keep, state, from, items, shares, positions, channels,
                        to);
  });
}

void broadcast_dropout(const Launch& at, DType type, const Dropout& dropout, const BroadcastAxes& axes,
                       const StepState* state, const void* x, std::int64_t rows, void* y) {
  std::int64_t width = 1;
  for (int axis = 0; axis < axes.axes; ++axis) width *= axes.extent[axis];
  if (rows <= 0 || width <= 0) return;
  Keep keep = keep_of(dropout);
  if (axes.one_row) keep.first_row = 0;
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto kernel = broadcast_dropout_kernel<T>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, rows * width), kBlock, keep, axes, state, static_cast<const T*>(x),
                        rows * width, width, static_cast<T*>(y));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
