#include "kernels/cuda/permute.h"

#include <stdexcept>

#include "kernels/cuda/words.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// The last axis stays last. `extent` and `stride` are in words, except that the last stride is 1.
template <class Word>
__global__ void permute_runs_kernel(const Permutation p, const Word* x, std::int64_t words, Word* y) {
  for (std::int64_t i = thread_number(); i < words; i += thread_count()) {
    std::int64_t rest = i, from = 0;
    DPTRAIN_UNROLL
    for (int a = Permutation::kMaxAxes - 1; a >= 0; --a) {
      if (a >= p.axes) continue;
      const Split s = split(rest, p.extent[a]);
      from += s.remainder * p.stride[a];
      rest = s.quotient;
    }
    y[i] = x[rest * p.elements + from];
  }
}

constexpr int kTile = 32;

/// A tile is kTile elements along the input's last axis by kTile along the output's last axis.
struct Tiles {
  int inner;                              ///< the output's axis that is last in the input
  std::int64_t inner_tiles, outer_tiles;  ///< number of tiles along it, and along the output's last axis
};

/// Transposes a tile in shared memory, so that both reads and writes are of adjacent elements. One block per tile.
template <class Bits>
__global__ void permute_tiles_kernel(const Permutation p, const Tiles t, const Bits* x, Bits* y) {
  __shared__ Bits tile[kTile][kTile + 1];  // padded, so that a column is in different banks
  const int last = p.axes - 1, column = static_cast<int>(threadIdx.x) % kTile;
  const int line = static_cast<int>(threadIdx.x) / kTile;
  const Split a = split(blockIdx.x, t.inner_tiles), b = split(a.quotient, t.outer_tiles);
  const std::int64_t inner = a.remainder * kTile, outer = b.remainder * kTile;
  // Start of the tile: the row, and the axes that the tile does not extend along.
  std::int64_t rest = b.quotient, from = 0, to = 0, to_stride = p.extent[last], inner_to_stride = 0;
  DPTRAIN_UNROLL
  for (int axis = Permutation::kMaxAxes - 2; axis >= 0; --axis) {
    if (axis >= last) continue;
    if (axis == t.inner) {
      inner_to_stride = to_stride;
    } else {
      const Split s = split(rest, p.extent[axis]);
      from += s.remainder * p.stride[axis];
      to += s.remainder * to_stride;
      rest = s.quotient;
    }
    to_stride *= p.extent[axis];
  }
  from += rest * p.elements;
  to += rest * p.elements;
  for (int i = line; i < kTile; i += kBlock / kTile)
    if (outer + i < p.extent[last] && inner + column < p.extent[t.inner])
      tile[i][column] = x[from + (outer + i) * p.stride[last] + inner + column];
  __syncthreads();
  for (int i = line; i < kTile; i += kBlock / kTile)
    if (inner + i < p.extent[t.inner] && outer + column < p.extent[last])
      y[to + (inner + i) * inner_to_stride + outer + column] = tile[column][i];
}

template <class Bits>
void permute_tiles(const Launch& at, const Permutation& p, const void* x, std::int64_t rows, void* y) {
  Tiles t{.inner = 0, .inner_tiles = 0, .outer_tiles = 0};
  while (p.stride[t.inner] != 1) ++t.inner;
  const std::int64_t inner = p.extent[t.inner], outer = p.extent[p.axes - 1];
  t.inner_tiles = (inner + kTile - 1) / kTile;
  t.outer_tiles = (outer + kTile - 1) / kTile;
  const std::int64_t blocks = rows * (p.elements / inner / outer) * t.inner_tiles * t.outer_tiles;
  const auto kernel = permute_tiles_kernel<Bits>;
  DPTRAIN_LAUNCH(at, kernel, static_cast<unsigned>(blocks), kBlock, p, t, static_cast<const Bits*>(x),
                 static_cast<Bits*>(y));
}

}  // namespace

Permutation::Permutation(const std::vector<std::int64_t>& in_shape, const std::vector<int>& new_axes) {
  const int rank = static_cast<int>(in_shape.size());
  std::vector<std::int64_t> in_strides(in_shape.size(), 1);
  for (int d = rank - 1; d > 0; --d)
    in_strides[static_cast<std::size_t>(d - 1)] =
        in_strides[static_cast<std::size_t>(d)] * in_shape[static_cast<std::size_t>(d)];
  std::vector<bool> seen(in_shape.size());
  if (new_axes.size() != in_shape.size())
    throw std::invalid_argument("permute: expected one axis of the input for each axis of the output");
  for (const int axis : new_axes) {
    if (axis < 0 || axis >= rank || seen[static_cast<std::size_t>(axis)])
      throw std::invalid_argument("permute: the axes are not a permutation");
    seen[static_cast<std::size_t>(axis)] = true;
    const std::int64_t size = in_shape[static_cast<std::size_t>(axis)],
                       step = in_strides[static_cast<std::size_t>(axis)];
    elements *= size;
    if (size == 1) continue;
    if (axes > 0 && stride[axes - 1] == step * size) {  // adjacent in the input, too
      extent[axes - 1] *= size;
      stride[axes - 1] = step;
      continue;
    }
    if (axes == kMaxAxes) throw std::invalid_argument("permute: more than 8 axes");
    extent[axes] = size;
    stride[axes++] = step;
  }
  if (axes == 0) extent[axes] = stride[axes] = 1, ++axes;
}

void permute(const Launch& at, DType type, const Permutation& permutation, const void* x, std::int64_t rows, void* y) {
  if (rows <= 0) return;
  const int last = permutation.axes - 1;
  if (permutation.stride[last] != 1)
    return size_of(type) == 4 ? permute_tiles<std::uint32_t>(at, permutation, x, rows, y)
                              : permute_tiles<std::uint16_t>(at, permutation, x, rows, y);
  // All other strides are multiples of the last extent.
  with_word(type, {permutation.extent[last]}, {x, y}, [&](auto zero) {
    using Word = decltype(zero);
    Permutation p = permutation;
    p.elements = in_words<Word>(type, p.elements);
    p.extent[last] = in_words<Word>(type, p.extent[last]);
    for (int a = 0; a < last; ++a) p.stride[a] = in_words<Word>(type, p.stride[a]);
    const std::int64_t words = rows * p.elements;
    const auto kernel = permute_runs_kernel<Word>;
    DPTRAIN_LAUNCH_FLAT(at, kernel, grid_for(at, words), kBlock, p, static_cast<const Word*>(x), words,
                        static_cast<Word*>(y));
  });
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
