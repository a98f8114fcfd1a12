#pragma once

// The specs of metrics that count predictions, above thresholds or by class. Names, arguments and defaults are those of
// keras.metrics. Labels are 0 or 1, or class numbers, which count as rows with a one.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/metric.h"

namespace dptrain::nn {

/// The arguments that Precision and Recall have in common. With top_k only the k largest values of a row can be
/// positive, the first of equals first; with class_id one class alone is counted.
struct CountedAbove {
  std::vector<double> thresholds{};  ///< empty: 0.5, or none at all with top_k
  std::optional<std::int64_t> top_k{}, class_id{};

  /// With Keras's defaults.
  std::vector<double> effective() const;
  std::vector<double> ascending() const;
};

/// true positives / (true positives + false positives), at each threshold.
struct PrecisionSpec : CountedAbove {
  std::string name = "precision";
};

/// true positives / (true positives + false negatives), at each threshold.
struct RecallSpec : CountedAbove {
  std::string name = "recall";
};

enum class Curve { kRoc, kPr };
enum class Summation { kInterpolation, kMinoring, kMajoring };

/// The area under the curve of true over false positive rate (ROC) or of precision over recall (PR), from counts at
/// `num_thresholds` even thresholds (the first below 0, the last above 1) or at the given ones and those two. The area
/// between two of them: by the trapezoid (interpolation; of PR as in Davis and Goadrich 2006), or by the smaller
/// (minoring) or larger height (majoring). multi_label: the mean of the areas of all classes, weighted by
/// label_weights; otherwise label_weights weigh the counts of each class.
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
  /// Each class has counts of its own.
  bool by_class() const { return multi_label || !label_weights.empty(); }
};

enum class ClassAverage { kMicro, kMacro, kWeighted };

/// Of each class: p = tp / (tp + fp + e), r = tp / (tp + fn + e), 2 p r / (p + r + e), with e = 1e-7. Positive are the
/// largest values of a row (all of equals, but no zeros), or those above the threshold. average: null has a value per
/// class, macro is their mean, weighted their mean by the number of positive labels, micro counts all classes as one.
struct F1ScoreSpec {
  std::string name = "f1_score";
  std::optional<ClassAverage> average{};
  std::optional<double> threshold{};
};

/// With sparse_y_pred=False: the class of a row is its first largest value, of labels that are rows likewise; of the
/// table of labels and predictions tp / (tp + fp + fn) of each class, averaged over the classes that occur. Rows whose
/// label is ignore_class or outside [0, num_classes) do not count.
struct MeanIoUSpec {
  std::string name = "mean_io_u";
  std::int64_t num_classes = 0;
  std::optional<std::int64_t> ignore_class{};
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
template <>
struct dptrain::config::EnumNames<dptrain::nn::ClassAverage> {
  static constexpr std::array names{std::pair{dptrain::nn::ClassAverage::kMicro, "micro"},
                                    std::pair{dptrain::nn::ClassAverage::kMacro, "macro"},
                                    std::pair{dptrain::nn::ClassAverage::kWeighted, "weighted"}};
};
