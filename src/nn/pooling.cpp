#include "nn/pooling.h"

#include <string>
#include <utility>

#include "nn/geometry.h"
#include "nn/layer.h"
#include "nn/volume_passes.h"

// The definition that MaxPooling2D and AveragePooling2D share. Private to the room.

namespace dptrain::nn {

/// Of a `Spec` with `pool_size`, `strides` (absent: equal to pool_size) and `padding`.
template <class Spec>
LayerBuilder<Spec> pooling(std::string name) {
  LayerBuilder<Spec> builder(std::move(name));
  std::move(builder)
      .positional(key("pool_size", &Spec::pool_size).at_least(1).check(Bounded{}))
      .key(key("strides", &Spec::strides).at_least(1).check(Bounded{}))
      .key(key("padding", &Spec::padding))
      .inputs(1)
      .of_rank(3)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return pooled(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), spec.padding);
      });
  return builder;
}

}  // namespace dptrain::nn

// The definition that MaxPooling1D and AveragePooling1D share. Private to the room.

namespace dptrain::nn {

/// Of a `Spec` with `pool_size`, `strides` (absent: equal to pool_size) and `padding`; `Image` is the spec over images.
template <class Spec, class Image>
LayerBuilder<Spec> pooling1d(std::string name) {
  LayerBuilder<Spec> builder(std::move(name));
  std::move(builder)
      .positional(key("pool_size", &Spec::pool_size).at_least(1).check(BoundedExtent{}))
      .key(key("strides", &Spec::strides).at_least(1).check(BoundedExtent{}))
      .key(key("padding", &Spec::padding))
      .inputs(1)
      .of_rank(2)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return Shape{windows(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), {1}, spec.padding),
                     in[0][1]};
      })
      .computed_as(+[](const Spec& spec) {
        return Image{.pool_size = along(spec.pool_size), .strides = along(spec.strides), .padding = spec.padding};
      });
  return builder;
}

}  // namespace dptrain::nn

// The definition that MaxPooling3D and AveragePooling3D share. Private to the room.

namespace dptrain::nn {

/// `Image` is the spec over images. The largest of the largest values of frames is that of the volume, and of equal
/// ones the first; the mean of their means is the mean, for a window covers as much of each frame. A pass over windows
/// of one element is left out.
template <class Spec, class Image>
VolumePasses pooling_passes(const Spec& spec) {
  const Size3 strides = spec.strides.value_or(spec.pool_size);
  const auto pass = [&](Size2 pool_size, Size2 stride) {
    return layer_family().make(Image{.pool_size = pool_size, .strides = stride, .padding = spec.padding});
  };
  VolumePasses passes;
  if (spec.pool_size.d > 1 || strides.d > 1) passes.depth = pass(along_depth(spec.pool_size), along_depth(strides));
  const Size2 frame = within_frame(spec.pool_size), step = within_frame(strides);
  if (!passes.depth || frame != Size2{1, 1} || step != Size2{1, 1}) passes.frames = pass(frame, step);
  return passes;
}

/// Of a `Spec` with `pool_size`, `strides` (absent: equal to pool_size) and `padding`.
template <class Spec>
LayerBuilder<Spec> pooling3d(std::string name) {
  LayerBuilder<Spec> builder(std::move(name));
  std::move(builder)
      .positional(key("pool_size", &Spec::pool_size).at_least(1).check(BoundedVolume{}))
      .key(key("strides", &Spec::strides).at_least(1).check(BoundedVolume{}))
      .key(key("padding", &Spec::padding))
      .inputs(1)
      .of_rank(4)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return volume_windows(in[0], spec.pool_size, spec.strides.value_or(spec.pool_size), {}, spec.padding, in[0][3]);
      });
  return builder;
}

namespace {

const Registered kAveragePooling1D = pooling1d<AveragePooling1DSpec, AveragePooling2DSpec>("AveragePooling1D");

const Registered kAveragePooling2D = pooling<AveragePooling2DSpec>("AveragePooling2D");

const Registered kAveragePooling3D = pooling3d<AveragePooling3DSpec>("AveragePooling3D");
const ComputedInPasses kAveragePooling3DPasses(pooling_passes<AveragePooling3DSpec, AveragePooling2DSpec>);

const Registered kMaxPooling1D = pooling1d<MaxPooling1DSpec, MaxPooling2DSpec>("MaxPooling1D");

const Registered kMaxPooling2D = pooling<MaxPooling2DSpec>("MaxPooling2D");

const Registered kMaxPooling3D = pooling3d<MaxPooling3DSpec>("MaxPooling3D");
const ComputedInPasses kMaxPooling3DPasses(pooling_passes<MaxPooling3DSpec, MaxPooling2DSpec>);

const Registered kGlobalAveragePooling1D =
    layer<GlobalAveragePooling1DSpec>("GlobalAveragePooling1D")
        .key(key("keepdims", &GlobalAveragePooling1DSpec::keepdims))
        .inputs(1)
        .of_rank(2)
        .output([](const GlobalAveragePooling1DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, in[0][1]} : Shape{in[0][1]};
        })
        .masks(MaskRule::kEnds)
        .heeds_masks()
        .backward_reads(BackwardReads{.masks = true});

const Registered kGlobalAveragePooling2D =
    layer<GlobalAveragePooling2DSpec>("GlobalAveragePooling2D")
        .key(key("keepdims", &GlobalAveragePooling2DSpec::keepdims))
        .inputs(1)
        .of_rank(3)
        .output([](const GlobalAveragePooling2DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, 1, in[0][2]} : Shape{in[0][2]};
        });

const Registered kGlobalAveragePooling3D =
    layer<GlobalAveragePooling3DSpec>("GlobalAveragePooling3D")
        .key(key("keepdims", &GlobalAveragePooling3DSpec::keepdims))
        .inputs(1)
        .of_rank(4)
        .output([](const GlobalAveragePooling3DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, 1, 1, in[0][3]} : Shape{in[0][3]};
        })
        .computed_as(+[](const GlobalAveragePooling3DSpec& spec) { return GlobalAveragePooling2DSpec{spec.keepdims}; });

const Registered kGlobalMaxPooling1D =
    layer<GlobalMaxPooling1DSpec>("GlobalMaxPooling1D")
        .key(key("keepdims", &GlobalMaxPooling1DSpec::keepdims))
        .inputs(1)
        .of_rank(2)
        .output([](const GlobalMaxPooling1DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, in[0][1]} : Shape{in[0][1]};
        })
        .computed_as(+[](const GlobalMaxPooling1DSpec& spec) { return GlobalMaxPooling2DSpec{spec.keepdims}; });

const Registered kGlobalMaxPooling2D = layer<GlobalMaxPooling2DSpec>("GlobalMaxPooling2D")
                                           .key(key("keepdims", &GlobalMaxPooling2DSpec::keepdims))
                                           .inputs(1)
                                           .of_rank(3)
                                           .output([](const GlobalMaxPooling2DSpec& spec, std::span<const Shape> in) {
                                             return spec.keepdims ? Shape{1, 1, in[0][2]} : Shape{in[0][2]};
                                           });

const Registered kGlobalMaxPooling3D =
    layer<GlobalMaxPooling3DSpec>("GlobalMaxPooling3D")
        .key(key("keepdims", &GlobalMaxPooling3DSpec::keepdims))
        .inputs(1)
        .of_rank(4)
        .output([](const GlobalMaxPooling3DSpec& spec, std::span<const Shape> in) {
          return spec.keepdims ? Shape{1, 1, 1, in[0][3]} : Shape{in[0][3]};
        })
        .computed_as(+[](const GlobalMaxPooling3DSpec& spec) { return GlobalMaxPooling2DSpec{spec.keepdims}; });

}  // namespace
}  // namespace dptrain::nn
