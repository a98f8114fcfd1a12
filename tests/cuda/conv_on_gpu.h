#pragma once

// Shared by the tests of convolutions on a GPU: tensors on the host and the device, and the products in plain loops.

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "backend/cuda/cuda_runtime.h"
#include "backend/gpu/convolution.h"
#include "cuda/gpu_requirement.h"

#ifndef DPTRAIN_BACKEND
#define DPTRAIN_BACKEND emu
#endif
#include "kernels/cuda/number.h"

namespace dptrain::test {

using backend::gpu::ConvOptions;
using backend::gpu::ConvProblem;
namespace number = kernels::DPTRAIN_BACKEND::number;

/// A tensor on the host in float, with values that the problem's type represents.
using Values = std::vector<float>;

inline float bf16_value(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

inline float rounded(float x, DType type) {
  if (type == DType::kBf16) return bf16_value(number::bf16_bits(x));
  if (type == DType::kF16) return number::half_value(number::half_bits(x));
  return x;
}

inline Values random_values(std::int64_t n, DType type, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Values values(static_cast<std::size_t>(n));
  for (float& value : values) value = rounded(uniform(engine), type);
  return values;
}

struct Sizes {
  explicit Sizes(const ConvProblem& p)
      : x(p.rows * p.in_h * p.in_w * p.in_channels),
        filter(p.weights()),
        y(p.rows * p.out_h * p.out_w * p.out_channels) {}
  std::int64_t x, filter, y;
};

/// Calls visit(index in x, index in filter, index in y) for every product of the convolution.
template <class Visit>
void for_products(const ConvProblem& p, const Visit& visit) {
  const std::int64_t cg = p.in_channels / p.groups, kg = p.out_channels / p.groups;
  for (std::int64_t n = 0; n < p.rows; ++n)
    for (std::int64_t oh = 0; oh < p.out_h; ++oh)
      for (std::int64_t ow = 0; ow < p.out_w; ++ow)
        for (std::int64_t r = 0; r < p.kernel_h; ++r)
          for (std::int64_t s = 0; s < p.kernel_w; ++s) {
            const std::int64_t h = oh * p.stride_h - p.pad_top + r * p.dilation_h;
            const std::int64_t w = ow * p.stride_w - p.pad_left + s * p.dilation_w;
            if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w) continue;
            for (std::int64_t k = 0; k < p.out_channels; ++k)
              for (std::int64_t c = 0; c < cg; ++c)
                visit(static_cast<std::size_t>(((n * p.in_h + h) * p.in_w + w) * p.in_channels + k / kg * cg + c),
                      static_cast<std::size_t>(((k * p.kernel_h + r) * p.kernel_w + s) * cg + c),
                      static_cast<std::size_t>(((n * p.out_h + oh) * p.out_w + ow) * p.out_channels + k));
          }
}

inline double relative_error(const Values& out, const std::vector<double>& reference) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!std::isfinite(out[i])) return INFINITY;
    difference += (out[i] - reference[i]) * (out[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  return std::sqrt(difference / size);
}

/// Device memory with values in the problem's type.
class Memory {
 public:
  Memory(backend::gpu::Runtime& runtime, DType type, const Values& values)
      : runtime_(runtime), type_(type), n_(values.size()) {
    data_ = runtime.allocate(n_ * size_of(type));
    std::vector<std::uint16_t> narrow;
    for (const float x : values) narrow.push_back(type == DType::kBf16 ? number::bf16_bits(x) : number::half_bits(x));
    const void* source = type == DType::kF32 ? static_cast<const void*>(values.data()) : narrow.data();
    const auto stream = runtime.make_stream(false);
    runtime.copy_in(data_, source, n_ * size_of(type), stream);
    runtime.synchronize(stream);
    runtime.destroy_stream(stream);
  }
  ~Memory() { runtime_.free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void* data() const { return data_; }
  Values read(backend::gpu::StreamHandle stream) const {
    Values values(n_);
    std::vector<std::uint16_t> narrow(n_);
    void* target = type_ == DType::kF32 ? static_cast<void*>(values.data()) : narrow.data();
    runtime_.copy_out(target, data_, n_ * size_of(type_), stream);
    runtime_.synchronize(stream);
    if (type_ == DType::kF32) return values;
    for (std::size_t i = 0; i < n_; ++i)
      values[i] = type_ == DType::kBf16 ? bf16_value(narrow[i]) : number::half_value(narrow[i]);
    return values;
  }

 private:
  backend::gpu::Runtime& runtime_;
  DType type_;
  std::size_t n_;
  void* data_ = nullptr;
};

/// A stream, and the workspace of a convolution.
struct Workplace {
  Workplace(backend::gpu::Runtime& runtime_, const backend::gpu::Convolution& convolution)
      : runtime(runtime_), workspace(runtime.allocate(convolution.workspace())), stream(runtime.make_stream(false)) {}
  ~Workplace() {
    runtime.destroy_stream(stream);
    runtime.free(workspace);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  backend::gpu::Runtime& runtime;
  void* const workspace;
  const backend::gpu::StreamHandle stream;
};

struct Precision {
  std::string name;
  DType type;
  bool tf32;
  double tolerance;  ///< relative to the norm: a few units in the last place of the type, averaged by sums
};

inline const std::vector<Precision> kPrecisions{{"strict", DType::kF32, false, 1e-5},
                                                {"tf32", DType::kF32, true, 2e-3},
                                                {"bf16", DType::kBf16, true, 1e-2},
                                                {"fp16", DType::kF16, true, 2e-3}};

}  // namespace dptrain::test
