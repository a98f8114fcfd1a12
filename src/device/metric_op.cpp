#include "device/metric_op.h"

#include <map>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::device {
namespace {

using MetricOpKey = std::pair<DeviceKind, std::type_index>;

std::map<MetricOpKey, MetricFactory>& metric_op_table() {
  static std::map<MetricOpKey, MetricFactory> table;  // a function's own, so that it exists before the first entry
  return table;
}

}  // namespace

void register_metric_op(DeviceKind kind, std::type_index spec, MetricFactory factory) {
  metric_op_table()[MetricOpKey(kind, spec)] = std::move(factory);
}

bool has_metric_op(DeviceKind kind, std::type_index spec) {
  return metric_op_table().contains(MetricOpKey(kind, spec));
}

std::unique_ptr<MetricOp> make_metric_op(const MetricContext& context, Device& device) {
  const auto found = metric_op_table().find(MetricOpKey(device.kind(), context.metric.metric.type()));
  if (found == metric_op_table().end())
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: device {} has no such metric", context.metric.metric.name(), device.name()));
  return found->second(context, device);
}

}  // namespace dptrain::device
