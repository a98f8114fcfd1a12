#pragma once

// The specs of metrics that count predictions, above thresholds or by class. Names, arguments and defaults are those of
// keras.metrics. Labels are 0 or 1, or class numbers, which count as one-hot rows.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/metric.h"

namespace dptrain::nn {

/// The arguments that Precision and Recall have in common. With top_k only the k largest values of a row can be
/// positive (the first ones of equal values). With class_id only that class counts.
struct ThresholdMetricSpec {
  std::vector<double> thresholds{};  ///< empty: 0.5, or with top_k no threshold
  std::optional<std::int64_t> top_k{}, class_id{};

  /// The thresholds with Keras's defaults.
  std::vector<double> effective() const;
  std::vector<double> ascending() const;
};

/// true positives / (true positives + false positives), at each threshold.
struct PrecisionSpec : ThresholdMetricSpec {
  std::string name = "precision";
};

/// true positives / (true positives + false negatives), at each threshold.
struct RecallSpec : ThresholdMetricSpec {
  std::string name = "recall";
};

enum class Curve { kRoc, kPr };
enum class Summation { kInterpolation, kMinoring, kMajoring };

/// The area under the ROC curve (true over false positive rate) or the PR curve (precision over recall). The thresholds
/// are `num_thresholds` even ones, the first below 0 and the last above 1, or the given ones and those two.
/// Interpolation adds trapezoids between thresholds, for PR as in Davis and Goadrich 2006. Minoring and majoring add
/// rectangles of the smaller or the larger height. With multi_label the value is the mean of the areas of all classes,
/// weighted by label_weights. Otherwise label_weights weight the counts of each class.
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

  /// All thresholds in ascending order, including those below 0 and above 1.
  std::vector<double> all_thresholds() const;
  /// Whether the thresholds are even. Keras then counts by ceil(p (n - 1)) in float, which matters if a prediction
  /// equals a threshold.
  bool evenly_spaced() const;
  /// Whether each class has its own counts.
  bool by_class() const { return multi_label || !label_weights.empty(); }
};

enum class ClassAverage { kMicro, kMacro, kWeighted };

/// The score of a class is 2 p r / (p + r + e). Here p = tp / (tp + fp + e), r = tp / (tp + fn + e) and e = 1e-7.
/// Values above the threshold are positive. Without one the largest value of a row is positive (all of equal ones, but
/// no zeros). average: null gives a value per class, macro their mean, weighted their mean by the number of positive
/// labels. micro counts all classes as one.
struct F1ScoreSpec {
  std::string name = "f1_score";
  std::optional<ClassAverage> average{};
  std::optional<double> threshold{};
};

/// As Keras with sparse_y_pred=False: the class of a row is the index of its first largest value, also for labels that
/// are rows. The value is the mean of tp / (tp + fp + fn) over the classes that occur. Rows whose label is ignore_class
/// or outside [0, num_classes) do not count.
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
