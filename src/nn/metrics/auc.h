#pragma once

// keras.metrics.AUC: the area under the curve of true over false positive rate (ROC) or of precision over recall (PR),
// from counts at `num_thresholds` even thresholds (the first below 0, the last above 1) or at the given ones and those
// two. The area between two of them: by the trapezoid (interpolation; of PR as Davis and Goadrich 2006 have it), or by
// the smaller (minoring) or larger height (majoring). multi_label: the mean of the areas of all classes, weighted by
// label_weights; otherwise label_weights weigh the counts of each class. Labels may be class numbers, which stand for
// rows with a one.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "nn/metric.h"

namespace dptrain::nn {

enum class Curve { kRoc, kPr };
enum class Summation { kInterpolation, kMinoring, kMajoring };

struct AUCSpec {
  std::string name = "auc";
  std::int64_t num_thresholds = 200;
  Curve curve = Curve::kRoc;
  Summation summation_method = Summation::kInterpolation;
  std::vector<double> thresholds{};
  bool multi_label = false;
  std::optional<std::int64_t> num_labels{};
  std::vector<double> label_weights{};
  bool from_logits = false;

  /// All, ascending, with those below 0 and above 1.
  std::vector<double> all_thresholds() const;
  /// Keras then counts by ceil(p (n - 1)) in float, which decides for predictions that are thresholds.
  bool evenly_spaced() const;
  /// The classes are counted by themselves.
  bool by_class() const { return multi_label || !label_weights.empty(); }
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::Curve> {
  static constexpr std::array names{std::pair{dptrain::nn::Curve::kRoc, "ROC"},
                                    std::pair{dptrain::nn::Curve::kPr, "PR"}};
};
template <>
struct dptrain::config::EnumNames<dptrain::nn::Summation> {
  static constexpr std::array names{std::pair{dptrain::nn::Summation::kInterpolation, "interpolation"},
                                    std::pair{dptrain::nn::Summation::kMinoring, "minoring"},
                                    std::pair{dptrain::nn::Summation::kMajoring, "majoring"}};
};
