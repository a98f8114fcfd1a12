#pragma once

// What predict says of a sample, as fields of a line: one object for each output of the model. Any thread.

#include <cstdint>
#include <string>

#include "cli/classes.h"

namespace dptrain::cli {

class PredictColumns {
 public:
  /// `prefix`: of the columns' names, "kind_" where the model has several outputs. `top`: so many classes of the most
  /// probable ones; `probabilities`: a column for each class besides. `classes` outlives the object.
  PredictColumns(const Classes& classes, std::string prefix, std::int64_t top, bool probabilities);

  /// ",label,probability": each name behind a comma.
  std::string header() const;
  /// The same of an output's numbers.
  std::string row(const float* output) const;

 private:
  const Classes& classes_;
  const std::string prefix_;
  const std::int64_t top_;
  const bool probabilities_;
};

}  // namespace dptrain::cli
