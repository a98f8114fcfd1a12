#pragma once

// NonFiniteSearch: repeats forward, loss and backward of a micro-batch in one slot, and checks every value that they
// write. Statistics and weights stay unchanged. Used on the runner's thread.
//
// Gathers of synchronized layers run in a search. A GPU that allocates, frees or loads a kernel meanwhile may wait for
// another rank. Searches are therefore constructed on all ranks before the first run(), and destroyed after the last.

#include <memory>
#include <optional>

#include "runtime/step_runner.h"

namespace dptrain::runtime {

class NonFiniteSearch {
 public:
  /// In 16 bits allocates floats for the largest tensor, and loads the kernel that converts to them.
  explicit NonFiniteSearch(StepRunner& runner);

  /// The first value that is not finite, in the order of the plan. Stages the slice to that set of buffers.
  std::optional<NotFinite> run(const BatchView& slice, const StepInputs& in, int set);

 private:
  /// Finds non-finite values among n values in device memory. `slice`: the rows they belong to; null: no rows.
  std::optional<NotFinite> check(const void* values, DType type, std::int64_t n, const BatchView* slice);
  std::optional<NotFinite> check_inputs(const BatchView& slice);
  std::optional<NotFinite> check_op(std::size_t step, bool backward, const BatchView& slice);
  std::optional<NotFinite> check_loss(const plan::LossStep& loss, const BatchView& slice);

  StepRunner& runner_;
  const plan::Plan& plan_;
  backend::Device& device_;
  backend::Stream& stream_;
  std::unique_ptr<backend::Buffer> floats_;  ///< null if the compute type is float32
};

}  // namespace dptrain::runtime
