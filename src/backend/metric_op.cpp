#include "backend/metric_op.h"

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {

DeviceRegistry<MetricFactory>& metric_op_registry() {
  static DeviceRegistry<MetricFactory> registry;
  return registry;
}

bool has_metric_op(DeviceKind kind, std::type_index spec) { return metric_op_registry().has({kind, spec}); }

std::unique_ptr<MetricOp> make_metric_op(const MetricContext& context, Device& device) {
  const auto* found = metric_op_registry().find({device.kind(), context.metric.metric.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: device {} has no such metric", context.metric.metric.name(), device.name()));
  return (*found)(context, device);
}

}  // namespace dptrain::backend
