#pragma once

// What the metrics that look at the k largest values of a row want of an output. Pure; any thread.

#include <string>

#include "core/format.h"
#include "nn/metric.h"

namespace dptrain::nn {

inline std::string top_k_misfit(std::int64_t k, const MetricSubject& subject) {
  if (k > subject.classes())
    return fmt::format("k = {} of an output of {} classes would count every sample; give a smaller k", k,
                       subject.classes());
  return ranks_classes(subject);
}

}  // namespace dptrain::nn
