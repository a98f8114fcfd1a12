// Element-wise transforms run together. A thread maps its output element back through the transforms that move pixels,
// then applies those that change values. Images are written as floats before a transform that needs their mean.

#include "kernels/cuda/pixels.h"

#include <stdexcept>

#include "kernels/cuda/lanes.h"
#include "kernels/cuda/reduce.h"
#include "kernels/philox.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {
namespace {

/// The words of the random stream (seed, purpose, a, b), in the order of core/random.h.
class Draws {
 public:
  __device__ Draws(std::uint64_t seed, std::uint32_t purpose, std::uint64_t a, std::uint32_t b)
      : key_{{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32) ^ (purpose * 0x9E3779B9U)}},
        a_(a),
        b_(b) {}

  __device__ std::uint32_t word() {
    const PhiloxBlock words =
        philox4x32({{static_cast<std::uint32_t>(a_), static_cast<std::uint32_t>(a_ >> 32), b_, next_ / 4}}, key_);
    return words.word[next_++ % 4];
  }
  /// Uniform in [0, n), without bias.
  __device__ std::uint64_t below(std::uint64_t n) {
    const std::uint64_t limit = ~std::uint64_t{0} - (~std::uint64_t{0} % n + 1) % n;
    for (;;) {
      const std::uint64_t high = word();
      const std::uint64_t value = high << 32 | word();
      if (value <= limit) return value % n;
    }
  }
  __device__ float in_range(double low, double high) {
    return static_cast<float>(low + (high - low) * static_cast<double>(philox_uniform(word())));
  }

 private:
  PhiloxKey key_;
  std::uint64_t a_;
  std::uint32_t b_, next_ = 0;
};

/// Random choices of one transform for one sample.
struct Drawn {
  std::int32_t top, left;  ///< crop: its origin; flip: whether rows, columns are reversed
  float value;             ///< brightness, contrast
};

__device__ std::int32_t begin_of(const PixelOp& op, std::int32_t size, std::int32_t wanted, Draws& draws) {
  const std::int32_t room = size + 2 * op.padding - wanted;
  return (op.random ? static_cast<std::int32_t>(draws.below(static_cast<std::uint64_t>(room) + 1)) : room / 2) -
         op.padding;
}

/// drawn [rows, count].
__global__ void draw_kernel(PixelProgram p, std::int64_t rows, const std::int64_t* samples, std::uint32_t epoch,
                            Drawn* drawn) {
  for (std::int64_t i = thread_number(); i < rows * p.count; i += thread_count()) {
    const Split place = split(i, p.count);
    const PixelOp& op = p.op[place.remainder];
    Draws draws(p.seed, p.purpose + op.index, static_cast<std::uint64_t>(samples[place.quotient]), epoch);
    Drawn d{0, 0, 0};
    switch (op.kind) {
      case PixelOpKind::kCrop:
        d.top = begin_of(op, op.in_height, op.height, draws);
        d.left = begin_of(op, op.in_width, op.width, draws);
        break;
      case PixelOpKind::kFlip: {
        const std::uint32_t coins = draws.word();
        d.left = op.columns && (coins & 1U) != 0;
        d.top = op.rows && (coins & 2U) != 0;
        break;
      }
      case PixelOpKind::kBrightness: d.value = draws.in_range(op.low, op.high) * op.range; break;
      case PixelOpKind::kContrast: d.value = draws.in_range(op.low, op.high); break;
      case PixelOpKind::kAffine:
      case PixelOpKind::kStandardize: break;
    }
    drawn[i] = d;
  }
}

/// Transforms [begin, end) of a program: from images of height x width to the output of the last.
struct PixelSegment {
  std::int32_t begin, end, height, width, out_height, out_width;
};

/// Per sample, for transforms that need them: means per channel, or mean and factor.
struct Statistics {
  double value[kMaxPixelChannels];
};

__device__ float clipped(const PixelOp& op, float x) {
  x = x < op.floor ? op.floor : x;
  return op.ceiling < x ? op.ceiling : x;
}

__device__ float changed(const PixelOp& op, const Drawn& drawn, const Statistics* statistics, int channel, float x) {
  switch (op.kind) {
    case PixelOpKind::kAffine: {
      const int c = op.per_channel ? channel : 0;
      return x * op.scale[c] + op.offset[c];
    }
    case PixelOpKind::kBrightness: return clipped(op, x + drawn.value);
    case PixelOpKind::kContrast: {
      const auto mean = static_cast<float>(statistics->value[channel]);
      return clipped(op, (x - mean) * drawn.value + mean);
    }
    case PixelOpKind::kStandardize:
      return static_cast<float>((static_cast<double>(x) - statistics->value[0]) * statistics->value[1]);
    case PixelOpKind::kCrop:
    case PixelOpKind::kFlip: break;
  }
  return x;
}

__device__ inline float number_of(std::uint8_t x) { return static_cast<float>(x); }
__device__ inline float number_of(float x) { return x; }

template <class In, class Out>
__global__ void pixel_kernel(PixelProgram p, PixelSegment s, const In* in, const std::int64_t* where,
                             const Drawn* drawn, const Statistics* statistics, Out* out, std::int64_t n) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const Split pixel = split(i, p.channels), line = split(pixel.quotient, s.out_width),
                image = split(line.quotient, s.out_height);
    const auto channel = static_cast<std::int32_t>(pixel.remainder);
    const std::int64_t row = image.quotient;
    auto x = static_cast<std::int32_t>(line.remainder), y = static_cast<std::int32_t>(image.remainder);
    const Drawn* const mine = drawn + row * p.count;
    std::int32_t first = s.begin;  // index of the first transform that changes the value
    bool outside = false;
    for (std::int32_t k = s.end - 1; k >= s.begin && !outside; --k) {
      const PixelOp& op = p.op[k];
      if (op.kind == PixelOpKind::kCrop) {
        y += mine[k].top;
        x += mine[k].left;
        outside = y < 0 || y >= op.in_height || x < 0 || x >= op.in_width;
        if (outside) first = k + 1;
      } else if (op.kind == PixelOpKind::kFlip) {
        if (mine[k].left != 0) x = op.in_width - 1 - x;
        if (mine[k].top != 0) y = op.in_height - 1 - y;
      }
    }
    float value = 0;
    if (!outside) {
      const std::int64_t from = where == nullptr ? row : where[row];
      value = number_of(in[((from * s.height + y) * s.width + x) * p.channels + channel]);
    }
    for (std::int32_t k = first; k < s.end; ++k) value = changed(p.op[k], mine[k], statistics + row, channel, value);
    out[i] = from_float<Out>(value);
  }
}

/// images [rows, elements], channels last; one block per row.
__global__ void pixel_statistics_kernel(PixelOpKind kind, const float* images, std::int64_t rows, std::int64_t elements,
                                        std::int32_t channels, Statistics* statistics) {
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const float* const image = images + row * elements;
    Statistics made{};
    if (kind == PixelOpKind::kContrast) {
      for (std::int32_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::int64_t i = c + std::int64_t{threadIdx.x} * channels; i < elements;
             i += std::int64_t{blockDim.x} * channels)
          sum += static_cast<double>(image[i]);
        made.value[c] = block_sum(sum) / static_cast<double>(elements / channels);
      }
    } else {
      const auto count = static_cast<double>(elements);
      double sum = 0, squares = 0;
      for (std::int64_t i = threadIdx.x; i < elements; i += blockDim.x) sum += static_cast<double>(image[i]);
      const double mean = block_sum(sum) / count;
      for (std::int64_t i = threadIdx.x; i < elements; i += blockDim.x) {
        const double d = static_cast<double>(image[i]) - mean;
        squares += d * d;
      }
      const double deviation = sqrt(block_sum(squares) / count), least = 1 / sqrt(count);
      made.value[0] = mean;
      made.value[1] = 1 / (deviation > least ? deviation : least);
    }
    if (threadIdx.x == 0) statistics[row] = made;
  }
}

bool needs_statistics(const PixelOp& op) {
  return op.kind == PixelOpKind::kContrast || op.kind == PixelOpKind::kStandardize;
}

/// End of the segment that begins at `begin`. `known`: its first transform has its statistics.
std::int32_t segment_end(const PixelProgram& p, std::int32_t begin, bool known) {
  std::int32_t end = begin + (known ? 1 : 0);
  while (end < p.count && !needs_statistics(p.op[end])) ++end;
  return end;
}

constexpr std::int64_t kRoundUp = 64;
std::int64_t rounded(std::int64_t bytes) { return (bytes + kRoundUp - 1) / kRoundUp * kRoundUp; }

/// Sizes of the workspace's parts in bytes.
struct Parts {
  Parts(const PixelProgram& p, std::int64_t rows) {
    bool any = false;
    std::int64_t elements = p.in_elements();
    for (std::int32_t k = 0; k < p.count; ++k) {
      any = any || needs_statistics(p.op[k]);
      elements = std::max(elements, std::int64_t{p.op[k].height} * p.op[k].width * p.channels);
    }
    drawn = rounded(rows * p.count * static_cast<std::int64_t>(sizeof(Drawn)));
    statistics = any ? rounded(rows * static_cast<std::int64_t>(sizeof(Statistics))) : 0;
    images = any ? rounded(rows * elements * static_cast<std::int64_t>(sizeof(float))) : 0;
  }
  std::int64_t drawn, statistics, images;  ///< images: one of two buffers
};

template <class In>
void run_segment(const Launch& at, const PixelProgram& p, const PixelSegment& s, const In* in,
                 const std::int64_t* where, std::int64_t rows, const Drawn* drawn, const Statistics* statistics,
                 DType type, void* out) {
  const std::int64_t n = rows * s.out_height * s.out_width * p.channels;
  dispatch(type, [&](auto tag) {
    using Out = typename decltype(tag)::type;
    DPTRAIN_LAUNCH_FLAT(at, (pixel_kernel<In, Out>), grid_for(at, n), kBlock, p, s, in, where, drawn, statistics,
                        static_cast<Out*>(out), n);
  });
}

}  // namespace

std::int64_t pixels_workspace(const PixelProgram& program, std::int64_t rows) {
  const Parts parts(program, rows);
  return parts.drawn + parts.statistics + 2 * parts.images;
}

void run_pixels(const Launch& at, const PixelProgram& p, const PixelBatch& batch, void* workspace, DType type,
                void* out) {
  if (batch.rows <= 0) return;
  if (batch.type != DType::kU8 && batch.type != DType::kF32) throw std::invalid_argument("samples are bytes or floats");
  const Parts parts(p, batch.rows);
  auto* const drawn = static_cast<Drawn*>(workspace);
  auto* const statistics = reinterpret_cast<Statistics*>(static_cast<unsigned char*>(workspace) + parts.drawn);
  unsigned char* const images = reinterpret_cast<unsigned char*>(statistics) + parts.statistics;
  if (p.count > 0)
    DPTRAIN_LAUNCH_FLAT(at, draw_kernel, grid_for(at, batch.rows * p.count), kBlock, p, batch.rows, batch.samples,
                        batch.epoch, drawn);

  const float* before = nullptr;  // the images between two segments; null: the input samples
  PixelSegment s{0, 0, p.height, p.width, p.height, p.width};
  for (int turn = 0;; ++turn) {
    s.end = segment_end(p, s.begin, before != nullptr);
    if (s.end > s.begin) s.out_height = p.op[s.end - 1].height, s.out_width = p.op[s.end - 1].width;
    const bool last = s.end == p.count;
    void* const target = last ? out : images + (turn % 2) * parts.images;
    const DType target_type = last ? type : DType::kF32;
    if (before != nullptr) {
      const std::int64_t elements = std::int64_t{s.height} * s.width * p.channels;
      DPTRAIN_LAUNCH(at, pixel_statistics_kernel, std::min<unsigned>(static_cast<unsigned>(batch.rows), 65535U), kBlock,
                     p.op[s.begin].kind, before, batch.rows, elements, p.channels, statistics);
      run_segment(at, p, s, before, nullptr, batch.rows, drawn, statistics, target_type, target);
    } else {
      const std::int64_t* const where = batch.gather ? batch.samples : nullptr;
      if (batch.type == DType::kU8)
        run_segment(at, p, s, static_cast<const std::uint8_t*>(batch.in), where, batch.rows, drawn, statistics,
                    target_type, target);
      else
        run_segment(at, p, s, static_cast<const float*>(batch.in), where, batch.rows, drawn, statistics, target_type,
                    target);
    }
    if (last) return;
    before = static_cast<const float*>(target);
    s = {s.end, s.end, s.out_height, s.out_width, s.out_height, s.out_width};
  }
}

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
