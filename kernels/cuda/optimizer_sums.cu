#include "kernels/cuda/optimizer.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/segments.h"

// Sums of optimizer.h, and passes over segments. A second launch adds the sums of pieces, in double, in order.

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

struct SquareSum {
  const float* x;
  double sum = 0;
  __device__ void of(const Segment&) {}
  template <int V>
  __device__ void run(std::int64_t i) {
    const Lanes<V> value = load<V>(x + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) sum += static_cast<double>(value.v[k]) * static_cast<double>(value.v[k]);
  }
};

struct PenaltySum {
  const float* x;
  double sum = 0, l1 = 0, l2 = 0;
  __device__ void of(const PenaltySegment& segment) {
    l1 = static_cast<double>(segment.l1);
    l2 = static_cast<double>(segment.l2);
  }
  template <int V>
  __device__ void run(std::int64_t i) {
    const Lanes<V> value = load<V>(x + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const double w = static_cast<double>(value.v[k]);
      sum += l1 * fabs(w) + l2 * (w * w);
    }
  }
};

/// sums[b] = sum of the pass over block b's piece.
template <class Segments, class Pass>
__global__ void optimizer_sums_kernel(Cut<Segments> cut, Pass pass, double* sums) {
  const Piece piece = cut.piece();
  pass.of(cut.segments.segment(cut.row()));
  sweep_block(piece.begin, piece.end, at_16_bytes(pass.x + piece.begin), pass);
  const double sum = block_sum(pass.sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

struct Itself {
  __device__ double operator()(double sum) const { return sum; }
};

/// The factor that limits a gradient's norm to `limit`; NaN if the norm is NaN.
struct ClipFactor {
  double limit;
  __device__ double operator()(double square) const {
    const double norm = sqrt(square);
    return norm <= limit ? 1.0 : limit / norm;
  }
};

/// results[b] = finish(sums[b * pieces] + ... + sums[b * pieces + pieces - 1]).
template <class Finish>
__global__ void finish_sums_kernel(const double* sums, std::int64_t pieces, Finish finish, double* results) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < pieces; i += kBlock) sum += sums[blockIdx.x * pieces + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) results[blockIdx.x] = finish(sum);
}

struct ScaleGradient {
  float* x;
  float factor;
  template <int V>
  __device__ void run(std::int64_t i) const {
    Lanes<V> value = load<V>(x + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) value.v[k] *= factor;
    store<V>(value, x + i);
  }
};

template <class Segments>
__global__ void scale_kernel(Cut<Segments> cut, const double* factors, float* x) {
  const float factor = static_cast<float>(factors[cut.row()]);
  if (factor == 1.0F) return;
  const Piece piece = cut.piece();
  const ScaleGradient pass{x, factor};
  sweep_block(piece.begin, piece.end, at_16_bytes(x + piece.begin), pass);
}

struct PenaltyGradient {
  const float* w;
  float* g;
  float l1, twice_l2;
  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> weight = load<V>(w + i);
    Lanes<V> gradient = load<V>(g + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) {
      const float v = weight.v[k], sign = v == 0.0F ? 0.0F : copysignf(l1, v);
      gradient.v[k] += fmaf(twice_l2, v, sign);
    }
    store<V>(gradient, g + i);
  }
};

__global__ void penalty_gradient_kernel(Cut<Rows<PenaltySegment>> cut, const float* w, float* g) {
  const PenaltySegment segment = cut.segments.segment(cut.row());
  const Piece piece = cut.piece();
  const PenaltyGradient pass{w, g, segment.l1, 2.0F * segment.l2};
  sweep_block(piece.begin, piece.end, at_16_bytes(w + piece.begin) && at_16_bytes(g + piece.begin), pass);
}

struct SumsOfSquares {
  const float* values;
  float* w;
  float keep, share;
  template <int V>
  __device__ void run(std::int64_t i) const {
    const Lanes<V> value = load<V>(values + i);
    Lanes<V> mean = load<V>(w + i);
    DPTRAIN_UNROLL
    for (int k = 0; k < V; ++k) mean.v[k] = fmaf(keep, mean.v[k], share * value.v[k]);
    store<V>(mean, w + i);
  }
};

__global__ void statistics_kernel(Cut<Rows<StatisticSegment>> cut, const LossScale* scale, const float* values,
                                  float* w) {
  if (scale != nullptr && scale->found_inf != 0) return;
  const StatisticSegment segment = cut.segments.segment(cut.row());
  const Piece piece = cut.piece();
  const SumsOfSquares pass{values, w, static_cast<float>(segment.momentum), static_cast<float>(1.0 - segment.momentum)};
  sweep_block(piece.begin, piece.end, at_16_bytes(values + piece.begin) && at_16_bytes(w + piece.begin), pass);
}

/// Sums `count` segments; results[i] = finish(sum of segment i).
template <class Segments, class Pass, class Finish>
void sum_segments(const Launch& at, const Cut<Segments>& cut, std::int64_t count, const Pass& pass,
                  const Finish& finish, double* workspace, double* results) {
  const auto blocks = static_cast<unsigned>(count * cut.pieces);
  const auto stage_one = optimizer_sums_kernel<Segments, Pass>;
  DPTRAIN_LAUNCH(at, stage_one, blocks, kBlock, cut, pass, workspace);
  DPTRAIN_LAUNCH(at, finish_sums_kernel<Finish>, static_cast<unsigned>(count), kBlock, workspace, cut.pieces, finish,
                 results);
}

template <class Segments>
void clip(const Launch& at, const Cut<Segments>& cut, std::int64_t count, double limit, double* workspace, float* g) {
  double* const factors = workspace + count * cut.pieces;
  sum_segments(at, cut, count, SquareSum{g}, ClipFactor{limit}, workspace, factors);
  DPTRAIN_LAUNCH_FLAT(at, scale_kernel<Segments>, static_cast<unsigned>(count * cut.pieces), kBlock, cut, factors, g);
}

}  // namespace

std::int64_t norm_workspace() { return kArenaPieces + 1; }

void sum_of_squares(const Launch& at, const float* x, std::int64_t n, double* workspace, double* sum) {
  const Cut<Whole> cut{{n}, pieces_for(n, kArenaPieces)};
  sum_segments(at, cut, 1, SquareSum{x}, Itself{}, workspace, sum);
}

void clip_by_global_norm(const Launch& at, double limit, std::int64_t n, double* workspace, float* g) {
  if (n <= 0) return;
  clip(at, Cut<Whole>{{n}, pieces_for(n, kArenaPieces)}, 1, limit, workspace, g);
}

std::int64_t segments_workspace(std::int64_t count) { return count * (kSegmentPieces + 1); }

void clip_by_norm(const Launch& at, double limit, const Table<Segment>& segments, double* workspace, float* g) {
  if (segments.count > 0) clip(at, cut_table(segments), segments.count, limit, workspace, g);
}

void squares_of_segments(const Launch& at, const Table<Segment>& segments, const float* x, double* workspace,
                         double* squares) {
  if (segments.count > 0)
    sum_segments(at, cut_table(segments), segments.count, SquareSum{x}, Itself{}, workspace, squares);
}

void add_penalty_gradient(const Launch& at, const Table<PenaltySegment>& segments, const float* w, float* g) {
  if (segments.count <= 0) return;
  const auto cut = cut_table(segments);
  DPTRAIN_LAUNCH_FLAT(at, penalty_gradient_kernel, static_cast<unsigned>(segments.count * cut.pieces), kBlock, cut, w,
                      g);
}

void penalty_value(const Launch& at, const Table<PenaltySegment>& segments, const float* w, double* workspace,
                   double* value) {
  const auto cut = cut_table(segments);
  const std::int64_t blocks = segments.count * cut.pieces;
  if (blocks > 0) {
    const auto stage_one = optimizer_sums_kernel<Rows<PenaltySegment>, PenaltySum>;
    DPTRAIN_LAUNCH(at, stage_one, static_cast<unsigned>(blocks), kBlock, cut, PenaltySum{w}, workspace);
  }
  DPTRAIN_LAUNCH(at, finish_sums_kernel<Itself>, 1, kBlock, workspace, blocks, Itself{}, value);
}

void update_statistics(const Launch& at, const Table<StatisticSegment>& segments, const LossScale* scale,
                       const float* values, float* w) {
  if (segments.count <= 0) return;
  const auto cut = cut_table(segments);
  DPTRAIN_LAUNCH_FLAT(at, statistics_kernel, static_cast<unsigned>(segments.count * cut.pieces), kBlock, cut, scale,
                      values, w);
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
