#pragma once

// MetricOp: one metric of one output on one device. It adds a batch's contribution to the metric's state, in an order
// that depends on the rows alone. Made from a table by (device kind, spec type), as ops are; owned by a MeasuredLoss
// and called from its replica's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <typeindex>

#include "backend/device.h"
#include "nn/metric.h"

namespace dptrain::backend {

/// Arguments of an op's constructor.
struct MetricContext {
  const plan::LossStep& loss;
  const nn::ResolvedMetric& metric;
  DType type = DType::kF32;  ///< type of the predictions
  std::int64_t rows = 0;     ///< maximum number of samples of a call

  std::int64_t classes() const { return metric.subject.classes(); }      ///< per row
  std::int64_t positions() const { return metric.subject.positions(); }  ///< rows per sample
  std::int64_t elements() const { return metric.subject.output.elements(); }
  /// The threshold on the scale of the predictions: converted where they are logits before a fused sigmoid.
  double threshold(double of_values) const {
    const bool moved =
        loss.fusion == plan::LossStep::Fusion::kSigmoid && metric.type().reads == nn::MetricReads::kThreshold;
    return moved ? nn::before_sigmoid(of_values) : of_values;
  }
};

struct MetricArgs {
  std::int64_t rows = 0;                  ///< samples
  const void* prediction = nullptr;       ///< [rows, positions, classes], in the form of MetricType::reads.
  DType type = DType::kF32;               ///< type of the predictions.
  const std::int32_t* classes = nullptr;  ///< labels: class numbers [rows, positions],
  const float* dense = nullptr;           ///< or rows of values [rows, positions, classes]
  /// [rows, positions], uint8 on CPUs and int32 on GPUs: LossArgs::hits. `prediction` is then null, because the
  /// gradient may have overwritten it. Null: the op reads the predictions.
  const void* hits = nullptr;
  const std::uint8_t* mask = nullptr;  ///< for masked metrics, [rows, positions]: 1 counts, 0 does not; null: all count
  double* state = nullptr;             ///< device memory; added to
  void* scratch = nullptr;
  Stream* stream = nullptr;
};

class MetricOp {
 public:
  virtual ~MetricOp() = default;
  virtual void run(const MetricArgs& args) = 0;
  virtual plan::Need need() const { return {}; }
  /// Whether MetricArgs::hits replaces a pass over the predictions.
  virtual bool reads_hits() const { return false; }
};

using MetricFactory = std::function<std::unique_ptr<MetricOp>(const MetricContext&, Device&)>;
inline bool has_metric_op(DeviceKind kind, std::type_index spec) {
  return device_registry<MetricFactory>().has({kind, spec});
}
/// Throws Error{kInternal} where the device has no such metric.
std::unique_ptr<MetricOp> make_metric_op(const MetricContext& context, Device& device);

/// `const RegisteredMetricOp kR2Score = metric_op<nn::R2ScoreSpec, R2ScoreMetric>(kKind);`
/// The op's constructor takes (const Spec&, const MetricContext&, Device&).
using RegisteredMetricOp = DeviceRegistration<MetricFactory>;
template <class Spec, class OpType>
RegisteredMetricOp metric_op(DeviceKind kind) {
  return {kind, typeid(Spec), [](const MetricContext& context, Device& device) -> std::unique_ptr<MetricOp> {
            return std::make_unique<OpType>(context.metric.metric.as<Spec>(), context, device);
          }};
}

}  // namespace dptrain::backend
