#pragma once

// Predicted against true classes over the samples of a data set, or over all their valid positions: what eval writes as
// confusion.csv. Main thread.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/classes.h"
#include "mpi/processes.h"

namespace dptrain::cli {

class Confusion {
 public:
  explicit Confusion(std::int64_t classes) : classes_(classes), counts_(static_cast<std::size_t>(classes * classes)) {}

  void add(std::int64_t label, std::int64_t predicted) {
    ++counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  /// Adds those of the other processes, the same in all.
  void add_processes(mpi::Processes& processes);
  std::int64_t count(std::int64_t label, std::int64_t predicted) const {
    return counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  /// First column and header: class names; one row per true class, one column per predicted one.
  std::string csv(const Classes& classes) const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

}  // namespace dptrain::cli
