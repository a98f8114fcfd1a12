#pragma once

// keras.metrics.MeanIoU with sparse_y_pred=False: the class of a row is its first largest value, of labels that are
// rows likewise; of the table of labels and predictions tp / (tp + fp + fn) of each class, averaged over the classes
// that occur. Rows whose label is ignore_class or outside [0, num_classes) do not count.

#include <optional>
#include <string>

#include "nn/metric.h"

namespace dptrain::nn {

struct MeanIoUSpec {
  std::string name = "mean_io_u";
  std::int64_t num_classes = 0;
  std::optional<std::int64_t> ignore_class{};
};

}  // namespace dptrain::nn
