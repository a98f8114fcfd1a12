#pragma once

// FusiblePasses: passes of an op's forward that an adjacent step runs piece by piece (kernels/cpu/piece_pass.h). A
// piece is about to be read or has just been written, so it is in the caches. The results have the same bits.

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/op.h"
#include "kernels/cpu/piece_pass.h"
#include "plan/memory.h"

namespace dptrain::backend {

/// An op whose forward begins with a pass over its input and ends with one that writes its output. Called from the op's
/// thread. A returned pass is valid until the op's next call.
class FusiblePasses {
 public:
  /// Whether there is such a first pass in training, and such a last pass in training and evaluation.
  virtual bool has_first_pass() const = 0;
  virtual bool has_last_pass() const = 0;
  /// The first pass, for the previous op, with the arguments of the next call. That call has `first_pass_done` set.
  virtual kernels::cpu::PiecePass first_pass(const OpArgs& args) = 0;
  /// The last pass of the latest call, which had `defers_last_pass` set, for the next op.
  virtual kernels::cpu::PiecePass last_pass() = 0;

 protected:
  ~FusiblePasses() = default;
};

/// Whether the only output of step s is the first input of step s + 1, in the same shape and for the same rows. False
/// for several slots, copies, a step s + 1 with several outputs or fused into the loss, and compute types other than
/// float32.
bool feeds_next_step(const plan::Plan& plan, std::size_t s);

/// The passes that adjacent steps run, by step.
struct FusedPasses {
  plan::DeferredPasses defers_last_pass;  ///< the next step runs the last pass of this one
  std::vector<bool> epilogue;             ///< this step runs the first pass of the next one
};
/// `ops`: by step. Null ops are in no pair.
FusedPasses fused_passes(const plan::Plan& plan, const std::vector<std::unique_ptr<Op>>& ops);

}  // namespace dptrain::backend
