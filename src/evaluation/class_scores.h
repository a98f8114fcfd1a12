#pragma once

// Confusion matrices, and precision, recall, F1 and IoU of each class. eval prints the scores and writes them to
// eval.json; it writes the matrix as confusion.csv. Functions are pure; Confusion: main thread.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "distributed/processes.h"
#include "evaluation/classes.h"

namespace dptrain::evaluation {

/// Counts of predicted against true classes, over the samples of a data set or over all their valid positions.
class Confusion {
 public:
  explicit Confusion(std::int64_t classes) : classes_(classes), counts_(static_cast<std::size_t>(classes * classes)) {}

  void add(std::int64_t label, std::int64_t predicted) {
    ++counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  /// Sums the counts of all processes; the result is the same in each.
  void add_processes(distributed::Processes& processes);
  std::int64_t count(std::int64_t label, std::int64_t predicted) const {
    return counts_[static_cast<std::size_t>(label * classes_ + predicted)];
  }
  /// One row per true class, one column per predicted class; class names in the first column and the header.
  std::string csv(const Classes& classes) const;

 private:
  std::int64_t classes_;
  std::vector<std::int64_t> counts_;
};

struct ClassScore {
  std::string name;
  std::int64_t support = 0;           ///< samples or positions of the class
  std::optional<double> precision{};  ///< correct fraction of its predictions; none: it was never predicted
  std::optional<double> recall{};     ///< correct fraction of its samples; none: it has no samples
  /// 2 correct / (predicted + support); none if both are zero.
  std::optional<double> f1{};
  /// Of outputs with several positions: correct / (predicted + support - correct); none if that is zero.
  std::optional<double> iou{};
};

std::vector<ClassScore> class_scores(const Confusion& confusion, const Classes& classes);

/// Mean over the classes that have samples, with undefined scores as zero: scikit-learn's macro average with
/// zero_division=0, except that it leaves out classes that are only predicted.
ClassScore macro_average(const std::vector<ClassScore>& scores);

/// The scores with their names, "precision", "recall", "f1" and, if `classes` has several positions, "iou".
std::vector<std::pair<std::string, std::optional<double>>> named_scores(const ClassScore& score,
                                                                        const Classes& classes);

/// A table of all classes with the averages last; only the averages for more than `most` classes.
std::string scores_table(const std::vector<ClassScore>& scores, std::size_t most = 60);

/// {"classes": [{"name", "precision", "recall", "f1", "support"}, ...], "macro": {"precision", "recall", "f1"}}, with
/// "iou" in each if there are several positions; undefined scores are null.
nlohmann::ordered_json scores_json(const std::vector<ClassScore>& scores);

}  // namespace dptrain::evaluation
