#pragma once

// The passes of one convolution for any number of rows, each with the implementation that conv2d_choice.h names: what
// Conv2D and the layers that are made of convolutions run. Belongs to one op; used from the replica's thread.

#include <array>
#include <memory>
#include <string>

#include "backend/cpu/conv/conv2d_choice.h"
#include "backend/cpu/conv/conv_pass.h"
#include "backend/cpu/per_rows.h"
#include "backend/device.h"

namespace dptrain::backend::cpu {

struct Dnnl;

class Convolution {
 public:
  struct Wanted {
    bool forward = true, data = false, weights = false;
  };
  /// `sample`: with rows unset. Nothing is made before prepare().
  Convolution(const ConvShape& sample, Wanted wanted, const RuntimeOptions& options, Dnnl& dnnl);

  void prepare(std::int64_t rows) { passes_.prepare(rows); }
  /// Bytes that run() wants for the rows that were prepared.
  std::size_t planned_scratch() const noexcept { return passes_.planned_scratch(); }
  bool wants(ConvPassKind kind) const;
  /// "winograd F(4x4,3x3) AVX-512 nhwc", with ", tuned" behind it where it was timed and not chosen by rule.
  std::string name(ConvPassKind kind, std::int64_t rows) const;
  /// "forward ...; data ...; weights ...", for summary --plan.
  std::string describe(std::int64_t rows) const;
  /// Whether run() takes ConvTensors::before and after, for all rows that were prepared.
  bool takes_pieces(ConvPassKind kind) const;
  /// Multiply-adds times two of one sample in one pass.
  double flops() const;

  /// A pass that is wanted. `scratch`: planned_scratch() bytes.
  void run(ConvPassKind kind, std::int64_t rows, const ConvTensors& tensors, void* scratch);
  /// The gradients that `tensors` has room for, which are wanted.
  void run_backward(std::int64_t rows, const ConvTensors& tensors, void* scratch);

 private:
  struct Passes {
    std::array<ChosenConv, 3> of_kind;   // without a pass where not wanted
    std::unique_ptr<ConvPass> backward;  // both gradients, where they are faster so
    std::size_t scratch() const;
  };
  Passes make(std::int64_t rows) const;

  ConvShape sample_;
  Wanted wanted_;
  RuntimeOptions options_;
  Dnnl& dnnl_;
  mutable PerRows<Passes> passes_{[this](std::int64_t rows) { return make(rows); }};
};

}  // namespace dptrain::backend::cpu
