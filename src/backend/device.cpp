#include "backend/device.h"

#include <algorithm>
#include <map>

#include "backend/metric_op.h"
#include "backend/optimizer_op.h"
#include "backend/pixel_pass.h"
#include "backend/volume_op.h"
#include "core/error.h"
#include "core/format.h"
#include "nn/activations.h"
#include "nn/layer.h"
#include "nn/merging.h"
#include "plan/tail.h"

namespace dptrain::backend {
namespace {

std::map<DeviceKind, PixelPassFactory>& pixel_pass_factories() {
  static std::map<DeviceKind, PixelPassFactory> factories;
  return factories;
}

}  // namespace

const OpTraits* op_traits(DeviceKind kind, std::type_index spec) {
  const auto* found = device_registry<OpEntry>().find({kind, spec});
  return found == nullptr ? nullptr : &found->traits;
}

std::unique_ptr<Op> Device::make_op(const OpContext& context) {
  if (const nn::VolumePasses passes = nn::passes_of(context.step.spec))
    return std::make_unique<VolumeOp>(passes, context, *this);
  const auto* found = device_registry<OpEntry>().find({kind(), context.step.spec.type()});
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

std::unique_ptr<LossOp> Device::make_loss(const LossContext& context) {
  const auto* found = device_registry<LossFactory>().find({kind(), context.loss.loss.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("{}: device {} has no such loss", context.loss.loss.name(), name()));
  return (*found)(context, *this);
}

std::unique_ptr<MetricOp> make_metric_op(const MetricContext& context, Device& device) {
  const auto* found = device_registry<MetricFactory>().find({device.kind(), context.metric.metric.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: device {} has no such metric", context.metric.metric.name(), device.name()));
  return (*found)(context, device);
}

std::unique_ptr<OptimizerOp> make_optimizer_op(const UpdateContext& context, Device& device) {
  const auto* found = device_registry<OptimizerOpFactory>().find({device.kind(), context.optimizer.type()});
  if (found == nullptr)
    throw Error(ErrorKind::kInternal, fmt::format("optimizer {}: device {} has no operation for it",
                                                  context.optimizer.name(), device.name()));
  return (*found)(context, device);
}

RegisteredPixelPass::RegisteredPixelPass(DeviceKind kind, PixelPassFactory factory) {
  pixel_pass_factories()[kind] = std::move(factory);
}

bool has_pixel_pass(DeviceKind kind) { return pixel_pass_factories().contains(kind); }

std::unique_ptr<PixelPass> make_pixel_pass(const PixelPassContext& context, Device& device) {
  const auto found = pixel_pass_factories().find(device.kind());
  if (found == pixel_pass_factories().end())
    throw Error(ErrorKind::kInternal, device.name() + " makes no batches of its own");
  return found->second(context, device);
}

FusionClaim fuses_activation() {
  return fuses<nn::ActivationSpec>([](const nn::ActivationSpec& spec, const plan::Follower& follower,
                                      const Device&) -> std::optional<plan::TailFusion> {
    if (!follower.step.tail.empty() || !nn::can_be_epilogue(spec.activation)) return std::nullopt;
    return plan::TailFusion{.reads_output = true};
  });
}

FusionClaim fuses_add() {
  return fuses<nn::AddSpec>(
      [](const nn::AddSpec&, const plan::Follower& follower, const Device&) -> std::optional<plan::TailFusion> {
        const auto shapes = follower.layer_inputs;
        if (!follower.step.tail.empty() || shapes.size() != 2 || shapes[0] != shapes[1]) return std::nullopt;
        return plan::TailFusion{.passes_gradient = true};
      });
}

FusionClaim fuses_relu_after_add(bool also_relu6) {
  return fuses<nn::ActivationSpec>([also_relu6](const nn::ActivationSpec& spec, const plan::Follower& follower,
                                                const Device&) -> std::optional<plan::TailFusion> {
    const auto& tail = follower.step.tail;
    const bool first = tail.empty() || (tail.size() == 1 && plan::tail_has<nn::AddSpec>(follower.step));
    const bool taken =
        spec.activation == nn::Activation::kRelu || (also_relu6 && spec.activation == nn::Activation::kRelu6);
    if (!first || !taken) return std::nullopt;
    return plan::TailFusion{.reads_output = true};
  });
}

UndoClaim undoes_relu() {
  return {typeid(nn::ActivationSpec), [](const plan::Step&, const plan::TailEntry& last) {
            return plan::activation_of(last) == nn::Activation::kRelu;
          }};
}

}  // namespace dptrain::backend
