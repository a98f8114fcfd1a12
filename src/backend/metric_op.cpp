#include "backend/metric_op.h"

#include "backend/device_table.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend {
namespace {

DeviceTable<MetricFactory>& metric_op_table() {
  static DeviceTable<MetricFactory> table;
  return table;
}

}  // namespace

void register_metric_op(DeviceKind kind, std::type_index spec, MetricFactory factory) {
  metric_op_table().add(kind, spec, std::move(factory));
}

bool has_metric_op(DeviceKind kind, std::type_index spec) { return metric_op_table().has(kind, spec); }

std::unique_ptr<MetricOp> make_metric_op(const MetricContext& context, Device& device) {
  const auto* found = metric_op_table().find(device.kind(), context.metric.metric.type());
  if (found == nullptr)
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: device {} has no such metric", context.metric.metric.name(), device.name()));
  return (*found)(context, device);
}

}  // namespace dptrain::backend
