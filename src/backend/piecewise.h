#pragma once

// PieceWise: passes of an op's forward that an adjacent step runs piece by piece (kernels/cpu/piece_pass.h). A piece is
// about to be read or has just been written, so it is in the caches. The results have the same bits.

#include <cstddef>
#include <memory>
#include <vector>

#include "backend/op.h"
#include "kernels/cpu/piece_pass.h"
#include "plan/memory.h"

namespace dptrain::backend {

/// An op whose forward begins with a pass over its input and ends with one that writes its output. Called from the op's
/// thread. A returned pass is valid until the op's next call.
class PieceWise {
 public:
  /// Whether there is such a first pass in training, and such a last pass in training and evaluation.
  virtual bool follows() const = 0;
  virtual bool leads() const = 0;
  /// The first pass, for the previous op, with the arguments of the next call. That call has `followed` set.
  virtual kernels::cpu::PiecePass follow(const OpArgs& args) = 0;
  /// The last pass of the latest call, which had `leads` set, for the next op.
  virtual kernels::cpu::PiecePass lead() = 0;

 protected:
  ~PieceWise() = default;
};

/// Whether the output of step s is the first input of step s + 1, in the same shape and for the same rows. False for
/// several slots and for compute types other than float32.
bool hands_on(const plan::Plan& plan, std::size_t s);

/// The passes that adjacent steps run, by step.
struct PiecePairs {
  plan::Leads leads;        ///< the next step runs the last pass of this one
  std::vector<bool> after;  ///< this step runs the first pass of the next one
};
/// `ops`: by step. Null ops are in no pair.
PiecePairs piece_pairs(const plan::Plan& plan, const std::vector<std::unique_ptr<Op>>& ops);

}  // namespace dptrain::backend
