#pragma once

// The columns that predict writes for one output of the model. Immutable; any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/classes.h"
#include "data/sources/windows.h"

namespace dptrain::cli {

class PredictColumns {
 public:
  /// `prefix`: begins the names of the columns, "kind_" if the model has several outputs. `top`: number of classes per
  /// sample, the most probable ones. `probabilities`: adds a column for each class. `scales`: one for each value of an
  /// output without classes, or none. `classes` outlives the object.
  PredictColumns(const Classes& classes, std::string prefix, std::int64_t top, bool probabilities,
                 std::vector<data::LabelScale> scales = {});

  /// ",label,probability": a comma before each name.
  std::string header() const;
  /// The fields for an output's numbers.
  std::string row(const float* output) const;

 private:
  const Classes& classes_;
  const std::string prefix_;
  const std::int64_t top_;
  const bool probabilities_;
  const std::vector<data::LabelScale> scales_;
};

}  // namespace dptrain::cli
