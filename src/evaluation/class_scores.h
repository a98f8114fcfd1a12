#pragma once

// Precision, recall and F1 of each class, from a confusion matrix: what eval prints and writes beside it. Pure
// functions.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "distributed/processes.h"
#include "evaluation/classes.h"

namespace dptrain::evaluation {

// Predicted against true classes over the samples of a data set, or over all their valid positions: what eval writes as
// confusion.csv. Main thread.

class Confusion {
 public:
  explicit Confusion(std::int64_t classes) : classes_(classes), counts_(static_cast<std::size_t>(classes * classes)) {}

  void add(std::int64_t label, std::int64_t predicted) {
    ++counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  /// Adds those of the other processes, the same in all.
  void add_processes(distributed::Processes& processes);
  std::int64_t count(std::int64_t label, std::int64_t predicted) const {
    return counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  /// First column and header: class names; one row per true class, one column per predicted one.
  std::string csv(const Classes& classes) const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

struct ClassScore {
  std::string name;
  std::int64_t support = 0;           ///< samples of the class
  std::optional<double> precision{};  ///< right ones among those predicted as the class; none: it was never predicted
  std::optional<double> recall{};     ///< right ones among those of the class; none: it has no sample
  /// 2 right / (predicted + support); none where both are zero.
  std::optional<double> f1{};
};

std::vector<ClassScore> class_scores(const Confusion& confusion, const Classes& classes);

/// The mean over the classes that have samples, of what is undefined as zero (scikit-learn's macro average with
/// zero_division=0, but for classes that are only predicted).
ClassScore macro_average(const std::vector<ClassScore>& scores);

/// A table of all classes, and the averages last; beyond `most` classes the averages alone.
std::string scores_table(const std::vector<ClassScore>& scores, std::size_t most = 60);

/// {"classes": [{"name", "precision", "recall", "f1", "support"}, ...], "macro": {"precision", "recall", "f1"}}; what
/// is undefined is null.
nlohmann::ordered_json scores_json(const std::vector<ClassScore>& scores);

}  // namespace dptrain::evaluation
