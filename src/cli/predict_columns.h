#pragma once

// What predict says of a sample, as fields of a line: one object for each output of the model. Any thread.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/classes.h"
#include "data/sources/windows.h"

namespace dptrain::cli {

class PredictColumns {
 public:
  /// `prefix`: of the columns' names, "kind_" where the model has several outputs. `top`: so many classes of the most
  /// probable ones; `probabilities`: a column for each class besides. `scales`: of values that are no classes, one each
  /// or none. `classes` outlives the object.
  PredictColumns(const Classes& classes, std::string prefix, std::int64_t top, bool probabilities,
                 std::vector<data::LabelScale> scales = {});

  /// ",label,probability": each name behind a comma.
  std::string header() const;
  /// The same of an output's numbers.
  std::string row(const float* output) const;

 private:
  const Classes& classes_;
  const std::string prefix_;
  const std::int64_t top_;
  const bool probabilities_;
  const std::vector<data::LabelScale> scales_;
};

}  // namespace dptrain::cli
