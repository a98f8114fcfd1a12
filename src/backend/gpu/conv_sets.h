#pragma once

// The convolutions that an op has made, one for each number of rows, and their room. They are made on
// other threads; what asks about one waits for it. Belongs to one op; used from the replica's thread.

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "backend/gpu/gpu_device.h"
#include "backend/parts.h"
#include "kernels/cuda/elementwise.h"

namespace dptrain::backend::DPTRAIN_BACKEND {

class ConvSets {
 public:
  /// What one number of rows needs. A set that was not prepared before memory was planned has memory of its own, so
  /// that no call has to wait for another's.
  struct Set {
    std::int64_t rows = 0;
    bool prepared = false;
    std::future<std::unique_ptr<gpu::Convolution>> coming;  ///< of no use once `convolution` is there
    std::unique_ptr<gpu::Convolution> convolution;
    std::uint64_t scratch = 0;
    std::unique_ptr<Buffer> own;
  };
  /// Bytes of scratch that the op wants with this convolution and number of rows.
  using Scratch = std::function<std::uint64_t(const gpu::Convolution&, std::int64_t rows)>;

  /// `sample`: what one sample is, its `rows` images or points.
  ConvSets(GpuDevice& device, const gpu::ConvProblem& sample, const gpu::ConvPasses& passes, Scratch scratch)
      : device_(device), sample_(sample), passes_(passes), scratch_(std::move(scratch)) {}

  /// Has the convolution made and does not wait for it: the other ops' are made meanwhile.
  void prepare(std::int64_t rows) { find(rows).prepared = true; }
  /// What prepared sets need: what the op's need() says. Waits for them.
  std::uint64_t planned() const {
    std::uint64_t bytes = 0;
    for (const auto& set : sets_)
      if (set->prepared) bytes = std::max(bytes, made(*set).scratch);
    return bytes;
  }
  const gpu::ConvProblem& sample() const noexcept { return sample_; }
  const gpu::ConvPasses& passes() const noexcept { return passes_; }
  /// Of the set that was prepared first.
  std::string name() const { return sets_.empty() ? "" : made(*sets_.front()).convolution->name(); }

  /// Made where it was not prepared.
  Set& at(std::int64_t rows) { return made(find(rows)); }

  /// The plan's scratch where it is large enough for the set, else memory of the set's own.
  std::byte* room(Set& set, void* of_plan) {
    if (set.prepared || set.scratch <= planned()) return static_cast<std::byte*>(of_plan);
    if (set.own == nullptr) set.own = device_.allocate(set.scratch);
    return set.own->as<std::byte>();
  }

 private:
  /// Begun where it is not there.
  Set& find(std::int64_t rows) {
    for (const auto& set : sets_)
      if (set->rows == rows) return *set;
    auto set = std::make_unique<Set>();
    set->rows = rows;
    gpu::ConvProblem problem = sample_;
    problem.rows *= rows;
    set->coming = device_.make_convolution(problem, passes_);
    sets_.push_back(std::move(set));
    return *sets_.back();
  }

  Set& made(Set& set) const {
    if (set.convolution == nullptr) {
      set.convolution = set.coming.get();
      set.scratch = scratch_(*set.convolution, set.rows);
    }
    return set;
  }

  GpuDevice& device_;
  gpu::ConvProblem sample_;
  gpu::ConvPasses passes_;
  Scratch scratch_;
  std::vector<std::unique_ptr<Set>> sets_;
};

inline std::int64_t output_positions(const gpu::ConvProblem& p) { return p.rows * p.out_h * p.out_w; }
inline std::int64_t input_positions(const gpu::ConvProblem& p) { return p.rows * p.in_h * p.in_w; }
/// Multiply-adds times two of one pass.
inline double flops(const gpu::ConvProblem& p) {
  return 2.0 * static_cast<double>(output_positions(p)) * static_cast<double>(p.weights());
}

/// Room in which backward_weights rounds the filter's gradient: none in float32, which is written where it belongs.
inline std::uint64_t rounded_filter_bytes(const gpu::ConvProblem& p, const gpu::ConvPasses& passes) {
  return p.type == DType::kF32 || !passes.weights ? 0 : aligned_part(p.weights(), p.type);
}

/// The filter's gradient in float. `rounded`: rounded_filter_bytes.
inline void differentiate_filter(const kernel::Launch& at, const gpu::ConvProblem& sample,
                                 gpu::Convolution& convolution, const void* x, const void* dy, void* rounded,
                                 void* workspace, float* gradient) {
  if (sample.type == DType::kF32) return convolution.backward_weights(x, dy, gradient, workspace, at.stream);
  convolution.backward_weights(x, dy, rounded, workspace, at.stream);
  kernel::cast_to_float(at, sample.type, rounded, gradient, sample.weights());
}

/// Products of rows with weights, their columns outermost, as convolutions of single points; one sample has `rows`.
inline gpu::ConvProblem product_problem(std::int64_t in, std::int64_t columns, std::int64_t rows, DType type,
                                        bool bias) {
  gpu::ConvProblem problem{{.in_channels = in, .out_channels = columns}};
  problem.rows = rows;
  problem.type = type;
  problem.bias = bias;
  return problem;
}
/// Their sets. The filter's gradient in 16 bits lies in front of the convolution's workspace.
inline ConvSets product_sets(GpuDevice& device, const gpu::ConvProblem& problem, const gpu::ConvPasses& passes) {
  const std::uint64_t rounded = rounded_filter_bytes(problem, passes);
  return ConvSets(device, problem, passes, [rounded](const gpu::Convolution& convolution, std::int64_t) {
    return rounded + convolution.workspace();
  });
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
