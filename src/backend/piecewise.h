#pragma once

// Passes of an op's forward that the op in front of it or behind it runs, on the positions that this one has just made
// or is about to read (kernels/cpu/piece_pass.h): what both touch then comes from the caches, where it would come from
// memory twice. Only steps that run one after the other can do so. The numbers are the same to the bit.

#include <memory>
#include <vector>

#include "backend/op.h"
#include "kernels/cpu/piece_pass.h"
#include "plan/memory.h"

namespace dptrain::backend {

/// Of an op whose forward begins with a pass over its input and ends with one that makes its output. Called from the
/// op's thread; what is returned holds until the op's next call.
class PieceWise {
 public:
  /// Whether there is such a first pass in training; such a last one, then and in evaluation.
  virtual bool follows() const = 0;
  virtual bool leads() const = 0;
  /// The first pass, for the op in front, with the arguments of the call to come. That call is `followed`.
  virtual kernels::cpu::PiecePass follow(const OpArgs& args) = 0;
  /// The last pass of the call just made, which `leads`, for the op behind.
  virtual kernels::cpu::PiecePass lead() = 0;

 protected:
  ~PieceWise() = default;
};

/// Which passes of a plan go along, by step.
struct PiecePairs {
  plan::Leads leads;        ///< the next step runs the last pass of this one
  std::vector<bool> after;  ///< this step runs the first pass of the next one
};
/// `ops`: by step; null ones go with nobody.
PiecePairs piece_pairs(const plan::Plan& plan, const std::vector<std::unique_ptr<Op>>& ops);

}  // namespace dptrain::backend
