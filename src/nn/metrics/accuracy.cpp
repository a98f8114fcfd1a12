#include "nn/metrics/accuracy.h"

namespace dptrain::nn {
namespace {

std::string accuracy_misfit(const MetricSubject& subject) {
  return subject.classes() == 1 ? compares_values(subject) : ranks_classes(subject);
}

const RegisteredMetric kAccuracy = metric<AccuracySpec>("Accuracy", {"accuracy", "acc"})
                                       .reads(MetricReads::kThreshold)
                                       .share()
                                       .larger_is_better()
                                       .fits(accuracy_misfit);

}  // namespace
}  // namespace dptrain::nn
