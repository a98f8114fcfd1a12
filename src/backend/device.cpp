#include "backend/device.h"

#include <algorithm>

#include "backend/volume_op.h"
#include "core/error.h"
#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::backend {

DeviceRegistry<OpEntry>& op_registry() {
  static DeviceRegistry<OpEntry> ops;
  return ops;
}

bool has_op(DeviceKind kind, std::type_index spec) { return op_registry().has({kind, spec}); }

const OpTraits* op_traits(DeviceKind kind, std::type_index spec) {
  const auto* found = op_registry().find({kind, spec});
  return found == nullptr ? nullptr : &found->traits;
}

std::unique_ptr<Op> Device::make_op(const OpContext& context) {
  if (const nn::VolumePasses passes = nn::passes_of(context.step.spec))
    return std::make_unique<VolumeOp>(passes, context, *this);
  const auto* found = op_registry().find({kind(), context.step.spec.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("{} '{}': device {} has no operation for this layer",
                                                  context.step.spec.name(), context.step.name, name()));
  return found->factory(context, *this);
}

std::optional<plan::TailFusion> Device::fuses(const plan::Follower& follower) const {
  if (const OpTraits* traits = op_traits(kind(), follower.step.spec.type()))
    for (const FusionClaim& claim : traits->fuses)
      if (claim.layer == follower.layer.type()) return claim.answer(follower, *this);
  return std::nullopt;
}

bool Device::undoes(const plan::Step& reader, const plan::TailEntry& last) const {
  const nn::VolumePasses passes = nn::passes_of(reader.spec);
  const OpTraits* traits = op_traits(kind(), passes ? passes.last().type() : reader.spec.type());
  return traits != nullptr && std::ranges::any_of(traits->undoes, [&](const UndoClaim& claim) {
           return claim.layer == last.layer.type() && claim.answer(reader, last);
         });
}

std::vector<int> Device::weight_order(const config::Typed& layer, std::size_t weight) const {
  const OpTraits* traits = op_traits(kind(), layer.type());
  if (traits != nullptr && traits->weight_order_of) return traits->weight_order_of(*this, layer, weight);
  if (traits == nullptr || weight >= traits->weight_orders.size()) return {};
  return traits->weight_orders[weight];
}

bool Device::reads_rows(const config::Typed& layer, std::size_t weight) const {
  const OpTraits* traits = op_traits(kind(), layer.type());
  return traits != nullptr && traits->reads_rows && weight == 0;
}

std::unique_ptr<RowTable> Device::make_row_table(const RowTableContext& context) {
  throw Error(ErrorKind::kInternal, fmt::format("{}: device {} has no tables", context.parameter.path, name()));
}

void Device::copy(void* destination, const void* source, std::size_t bytes, Stream& stream) {
  if (bytes % sizeof(float) != 0)
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: a copy of {} bytes, expected a whole number of floats", name(), bytes));
  from_float(static_cast<const float*>(source), destination, DType::kF32,
             static_cast<std::int64_t>(bytes / sizeof(float)), stream);
}

}  // namespace dptrain::backend
