#pragma once

// Convolution: the passes of one convolution for any number of rows, with the algorithms that conv2d_choice.h chooses.
// Belongs to one op; used from the replica's thread.
//
//   Convolution convolution(sample, {.forward = true, .weights = true}, device.options(), device.dnnl());
//   convolution.prepare(rows);  // Op::need() then includes planned_scratch()
//   convolution.run(ConvPassKind::kForward, rows, {.x = x, .weights = weights, .bias = bias, .y = y}, scratch);

#include <array>
#include <memory>
#include <string>

#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_pass.h"
#include "backend/cpu/row_count_cache.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {

struct Dnnl;

class Convolution {
 public:
  struct Wanted {
    bool forward = true, data = false, weights = false;
  };
  /// `sample`: with rows unset. Primitives are made by prepare().
  Convolution(const ConvShape& sample, Wanted wanted, const RuntimeOptions& options, Dnnl& dnnl);

  void prepare(std::int64_t rows) { passes_.prepare(rows); }
  /// Bytes of scratch for run() with any number of rows that was prepared. With others, run() allocates.
  std::size_t planned_scratch() const noexcept { return passes_.planned_scratch(); }
  bool wants(ConvPassKind kind) const;
  /// "winograd F(4x4,3x3) AVX-512 nhwc"; ends in ", tuned" if chosen by timings.
  std::string name(ConvPassKind kind, std::int64_t rows) const;
  /// For `summary --plan`: "forward ...; data ...; weights ...".
  std::string describe(std::int64_t rows) const;
  /// Whether run() supports ConvTensors::prologue and epilogue for all rows that were prepared.
  bool supports_fused_passes(ConvPassKind kind) const;
  /// Multiply-adds times two of one sample in one pass.
  double flops() const;

  /// `kind` must be requested in the constructor. `scratch`: planned_scratch() bytes.
  void run(ConvPassKind kind, std::int64_t rows, const ConvTensors& tensors, void* scratch);
  /// Computes dweights and dx where not null; the constructor must have requested their passes.
  void run_backward(std::int64_t rows, const ConvTensors& tensors, void* scratch);

 private:
  struct Passes {
    std::array<ChosenConv, 3> of_kind;   // pass null: not requested
    std::unique_ptr<ConvPass> backward;  // both gradients in one pass; null: there is none
    std::size_t scratch() const;
  };
  Passes make(std::int64_t rows) const;

  ConvShape sample_;
  Wanted wanted_;
  RuntimeOptions options_;
  Dnnl& dnnl_;
  mutable RowCountCache<Passes> passes_{[this](std::int64_t rows) { return make(rows); }};
};

}  // namespace dptrain::backend::cpu
