#include "nn/time_distributed.h"

#include "core/format.h"

namespace dptrain::nn {
namespace {

using Spec = TimeDistributedSpec;

std::string layer_complaint(const WrappedLayer& layer) {
  if (!layer) return "";
  const LayerType& type = type_of(layer);
  if (type.min_inputs != 1)
    return fmt::format("must be a layer of one input, {} {}", layer.name(),
                       type.max_inputs == 0 ? "has none" : "takes several");
  if (type.input_type != DType::kF32)
    return fmt::format("must be a layer of numbers; {} takes ids of any shape without TimeDistributed", layer.name());
  return "";
}

/// One step of [steps, ...].
Shape step_of(const Shape& steps) { return Shape({steps.dims().begin() + 1, steps.dims().end()}); }
std::vector<Shape> steps_of(std::span<const Shape> in) { return {step_of(in[0])}; }

std::vector<OutputDef> outputs(const Spec& spec, std::span<const TensorDef> in) {
  if (in[0].shape.rank() < 2)
    throw LayerError(fmt::format("expected steps of 1 axis or more, {{0}} is {}", in[0].shape.str()));
  const LayerType& type = type_of(spec.layer);
  const TensorDef one{step_of(in[0].shape), in[0].type};
  if (type.input_rank != 0 && one.shape.rank() != type.input_rank)
    throw LayerError(fmt::format("{} expects an input of {} axes, each step of {{0}} is {}", spec.layer.name(),
                                 type.input_rank, one.shape.str()));
  std::vector<OutputDef> of_step = type.outputs(spec.layer.spec(), {&one, 1});
  if (of_step.back().is_mask)
    throw LayerError(fmt::format("{} makes a mask of all axes: use it without TimeDistributed", spec.layer.name()));
  if (of_step.size() > 1)
    throw LayerError(fmt::format("{} must have one output, not {}", spec.layer.name(), of_step.size()));
  std::vector<std::int64_t> dims = of_step[0].shape.dims();
  dims.insert(dims.begin(), in[0].shape[0]);
  of_step[0].shape = Shape(std::move(dims));
  return of_step;
}

/// A layer that heeds masks would get that of a step, a number, which none can make sense of.
MaskRule mask_rule(const Spec& spec, std::span<const Shape> in) {
  const LayerType& type = type_of(spec.layer);
  const MaskRule inner = type.mask_rule(spec.layer.spec(), steps_of(in));
  return inner == MaskRule::kHeeds || type.heeds_masks ? MaskRule::kHeeds : MaskRule::kPasses;
}

const Registered kTimeDistributed =
    layer<Spec>("TimeDistributed")
        .positional(key("layer", &Spec::layer).required().check(layer_complaint))
        .inputs(1)
        .outputs(outputs)
        .weights([](const Spec& spec, std::span<const Shape> in) {
          return type_of(spec.layer).weights(spec.layer.spec(), steps_of(in));
        })
        .random([](const Spec& spec) { return is_random(spec.layer); })
        .masks(mask_rule)
        .applies([](const Spec& spec) -> config::Typed { return spec.layer; },
                 [](const config::Typed& layer) { return Spec{WrappedLayer(layer)}; })
        .backward_reads([](const Spec& spec) { return type_of(spec.layer).backward_reads(spec.layer.spec()); });

}  // namespace
}  // namespace dptrain::nn
