#pragma once

// The convolutions of an op, one per number of rows, and their scratch. Other threads create them; accessors wait for
// that. Belongs to one op; used from the replica's thread.

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

/// Bytes of the filter gradient in 16 bits, which is converted to float afterwards. In float32 it is written in place.
inline std::uint64_t rounded_filter_bytes(const gpu::ConvProblem& p, const gpu::ConvPasses& passes) {
  return p.type == DType::kF32 || !passes.weights ? 0 : aligned_part(p.weights(), p.type);
}

class ConvSets {
 public:
  /// A call of a convolution. Its scratch is [before][rounded_filter_bytes()][workspace].
  struct Call {
    gpu::Convolution& convolution;
    const gpu::ConvProblem& sample;
    std::byte *before, *rounded, *workspace;

    /// Writes the filter's gradient in float.
    void differentiate_filter(const kernel::Launch& at, const void* x, const void* dy, float* gradient) const {
      if (sample.type == DType::kF32) return convolution.backward_weights(x, dy, gradient, workspace, at.stream);
      convolution.backward_weights(x, dy, rounded, workspace, at.stream);
      kernel::cast_to_float(at, sample.type, rounded, gradient, sample.weights());
    }
  };
  /// Bytes of scratch that the op needs with this convolution and number of rows.
  using Scratch = std::function<std::uint64_t(const gpu::Convolution&, std::int64_t rows)>;

  /// `sample`: the problem of one sample, which may have several `rows` (images or points).
  ConvSets(GpuDevice& device, const gpu::ConvProblem& sample, const gpu::ConvPasses& passes, Scratch scratch)
      : device_(device), sample_(sample), passes_(passes), scratch_(std::move(scratch)) {}

  /// Starts creating the convolution without waiting, so that those of other ops are created concurrently.
  void prepare(std::int64_t rows) { find(rows).prepared = true; }
  /// Scratch of all prepared sets, for the op's need(). Waits for them.
  std::uint64_t planned() const {
    std::uint64_t bytes = 0;
    for (const auto& set : sets_)
      if (set->prepared) bytes = std::max(bytes, made(*set).scratch);
    return bytes;
  }
  const gpu::ConvProblem& sample() const noexcept { return sample_; }
  const gpu::ConvPasses& passes() const noexcept { return passes_; }
  std::string name() const { return sets_.empty() ? "" : made(*sets_.front()).convolution->name(); }

  /// Creates the convolution if it was not prepared. Scratch is the plan's if that is large enough for the convolution,
  /// else memory of this object. `before`: bytes in it for other purposes.
  Call call(std::int64_t rows, void* of_plan, std::uint64_t before = 0) {
    Set& set = made(find(rows));
    auto* scratch = static_cast<std::byte*>(of_plan);
    if (!set.prepared && set.scratch > planned()) {
      if (set.own == nullptr) set.own = device_.allocate(set.scratch);
      scratch = set.own->as<std::byte>();
    }
    std::byte* const rounded = scratch + before;
    return {*set.convolution, sample_, scratch, rounded, rounded + rounded_filter_bytes(sample_, passes_)};
  }

 private:
  /// A convolution for one number of rows. If it was not prepared before planning, it may need scratch of its own.
  struct Set {
    std::int64_t rows = 0;
    bool prepared = false;
    std::future<std::unique_ptr<gpu::Convolution>> coming;  ///< invalid once `convolution` is set
    std::unique_ptr<gpu::Convolution> convolution;
    std::uint64_t scratch = 0;
    std::unique_ptr<Buffer> own;
  };
  /// Starts creating the set if it does not exist.
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
inline double flops(const gpu::ConvProblem& p) {
  return 2.0 * static_cast<double>(output_positions(p)) * static_cast<double>(p.weights());
}

/// Rows times weights, columns outermost, as a convolution of single points; a sample has `rows` points.
inline gpu::ConvProblem product_problem(std::int64_t in, std::int64_t columns, std::int64_t rows, DType type,
                                        bool bias) {
  gpu::ConvProblem problem{{.in_channels = in, .out_channels = columns}};
  problem.rows = rows;
  problem.type = type;
  problem.bias = bias;
  return problem;
}
/// The sets of a product. In scratch, a 16-bit filter gradient precedes the convolution's workspace.
inline ConvSets product_sets(GpuDevice& device, const gpu::ConvProblem& problem, const gpu::ConvPasses& passes) {
  const std::uint64_t rounded = rounded_filter_bytes(problem, passes);
  return ConvSets(device, problem, passes, [rounded](const gpu::Convolution& convolution, std::int64_t) {
    return rounded + convolution.workspace();
  });
}

}  // namespace dptrain::backend::DPTRAIN_BACKEND
