#include "backend/conv3d_ops.h"

#include <utility>

#include "backend/geometry.h"
#include "nn/convolutions.h"
#include "nn/layer.h"
#include "nn/pooling.h"

namespace dptrain::backend {
namespace {

Shape frame_of(const Shape& volume) { return {volume[1], volume[2], volume[3]}; }

std::optional<plan::TailFusion> as_images(const nn::MaxPooling3DSpec&, const plan::Follower& follower,
                                          const Device& device) {
  const nn::VolumePasses passes = nn::passes_of(follower.layer);
  if (passes.depth) return std::nullopt;
  const auto& spec = follower.step.spec.as<nn::Conv3DSpec>();
  const Shape image = image_shape(spec, follower.inputs.front()), before = frame_of(follower.layer_inputs.front());
  return device.fuses({.step = image_step(spec, follower.step),
                       .inputs = {&image, 1},
                       .layer = passes.frames,
                       .layer_inputs = {&before, 1},
                       .layer_output = frame_of(follower.layer_output)});
}

}  // namespace

plan::Step image_step(const nn::Conv3DSpec& spec, const plan::Step& outer) {
  auto image = image_spec<nn::Conv2DSpec>(spec);
  image.filters = spec.filters;
  image.groups = spec.groups;
  image.use_bias = spec.use_bias;
  plan::Step step{.spec = nn::layer_family().make(std::move(image)),
                  .tail = outer.tail,
                  .parameters = outer.parameters,
                  .parameter_gradients = outer.parameter_gradients};
  for (plan::TailEntry& entry : step.tail)
    if (const nn::VolumePasses passes = nn::passes_of(entry.layer)) entry.layer = passes.frames;
  return step;
}

Shape image_shape(const nn::Conv3DSpec& spec, const Shape& volume) {
  return {volume[1], volume[2], volume[3] * spec.kernel_size.d};
}

FusionClaim fuses_frame_pooling() { return fuses<nn::MaxPooling3DSpec>(as_images); }

}  // namespace dptrain::backend
