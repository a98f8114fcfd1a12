#include "device/device.h"

#include <map>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::device {
namespace {

using OpKey = std::pair<DeviceKind, std::type_index>;

std::map<OpKey, OpFactory>& op_table() {
  static std::map<OpKey, OpFactory> table;  // a function's own, so that it exists before the first registration
  return table;
}

}  // namespace

void register_op(DeviceKind kind, std::type_index spec, OpFactory factory) {
  op_table()[OpKey(kind, spec)] = std::move(factory);
}

bool has_op(DeviceKind kind, std::type_index spec) { return op_table().contains(OpKey(kind, spec)); }

std::unique_ptr<Op> Device::make_op(const OpContext& context) {
  const auto found = op_table().find(OpKey(kind(), context.step.spec.type()));
  if (found == op_table().end())
    throw Error(ErrorKind::kInternal, fmt::format("{} '{}': device {} has no operation for this layer",
                                                  context.step.spec.name(), context.step.name, name()));
  return found->second(context, *this);
}

void Device::copy(void* destination, const void* source, std::size_t bytes, Stream& stream) {
  if (bytes % sizeof(float) != 0)
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: a copy of {} bytes, expected a whole number of floats", name(), bytes));
  from_float(static_cast<const float*>(source), destination, DType::kF32,
             static_cast<std::int64_t>(bytes / sizeof(float)), stream);
}

}  // namespace dptrain::device
