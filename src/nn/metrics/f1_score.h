#pragma once

// keras.metrics.F1Score, of each class: p = tp / (tp + fp + e), r = tp / (tp + fn + e), 2 p r / (p + r + e), with
// e = 1e-7. Positive are the largest values of a row (all of equals, but no zeros), or those above the threshold.
// average: null has a value per class, macro is their mean, weighted their mean by the number of positive labels, micro
// counts all classes as one. Labels are 0 or 1; class numbers stand for rows with a one.

#include <array>
#include <optional>
#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

enum class ClassAverage { kMicro, kMacro, kWeighted };

struct F1ScoreSpec {
  std::string name = "f1_score";
  std::optional<ClassAverage> average{};
  std::optional<double> threshold{};
};

}  // namespace dptrain::nn

template <>
struct dptrain::config::EnumNames<dptrain::nn::ClassAverage> {
  static constexpr std::array names{std::pair{dptrain::nn::ClassAverage::kMicro, "micro"},
                                    std::pair{dptrain::nn::ClassAverage::kMacro, "macro"},
                                    std::pair{dptrain::nn::ClassAverage::kWeighted, "weighted"}};
};
