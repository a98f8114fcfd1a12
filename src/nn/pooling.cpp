#include "nn/pooling.h"

#include <string>
#include <type_traits>

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

/// The layer over images that computes a pooling over steps.
template <template <int> class SpecOf>
SpecOf<2> image_of(const SpecOf<1>& spec) {
  return {.pool_size = along(spec.pool_size), .strides = along(spec.strides), .padding = spec.padding};
}

/// Pools frames, then the depth. The maximum of maxima is that of the volume, the first one on ties. The mean of means
/// is its mean, because a window covers as much of each frame. Skips a pass over windows of one element.
template <template <int> class SpecOf>
VolumePasses pooling_passes(const SpecOf<3>& spec) {
  const Size3 strides = spec.strides.value_or(spec.pool_size);
  const auto pass = [&](Size2 pool_size, Size2 stride) {
    return layer_family().make(SpecOf<2>{.pool_size = pool_size, .strides = stride, .padding = spec.padding});
  };
  VolumePasses passes;
  if (spec.pool_size.d > 1 || strides.d > 1) passes.depth = pass(along_depth(spec.pool_size), along_depth(strides));
  const Size2 frame = within_frame(spec.pool_size), step = within_frame(strides);
  if (!passes.depth || frame != Size2{1, 1} || step != Size2{1, 1}) passes.frames = pass(frame, step);
  return passes;
}

/// The limit of the windows of MaxPooling for the text of `pool_size`; "" for the mean.
template <class Spec>
std::string window_limit_text() {
  if (std::is_same_v<Spec, MaxPooling1DSpec>) return fmt::format(", at most {}", kMaxPoolWindow);
  if (std::is_same_v<Spec, MaxPooling2DSpec>) return fmt::format(", at most {} values", kMaxPoolWindow);
  if (std::is_same_v<Spec, MaxPooling3DSpec>)
    return fmt::format(", at most {} values per frame and in depth", kMaxPoolWindow);
  return "";
}

template <template <int> class SpecOf, int Rank>
LayerBuilder<SpecOf<Rank>> pooling(const char* name) {
  using Spec = SpecOf<Rank>;
  auto builder = layer<Spec>(name);
  builder
      .positional(key("pool_size", &Spec::pool_size)
                      .at_least(1)
                      .check(ExtentCheck{})
                      .doc("size of the window: " + extents_text(Spec{}.pool_size) + window_limit_text<Spec>()))
      .key(key("strides", &Spec::strides)
               .at_least(1)
               .check(ExtentCheck{})
               .doc("distance between windows: " + extents_text(Spec{}.pool_size) + "; none: pool_size"))
      .key(key("padding", &Spec::padding)
               .doc("valid, or same: the output has the size of the input divided by the strides, rounded up"))
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return window_shape(in[0], axes(spec.pool_size), axes(spec.strides.value_or(spec.pool_size)), Axes(Rank, 1),
                            spec.padding, in[0].back());
      });
  if constexpr (Rank == 1) builder.computed_as(image_of<SpecOf>);
  if constexpr (Rank == 3) builder.computed_in_passes(pooling_passes<SpecOf>);
  return builder;
}

const Registered kAveragePooling1D = pooling<AveragePoolingSpec, 1>("AveragePooling1D")
                                         .doc("[steps, C] -> [steps', C]; the mean of each window")
                                         .example("padding: same", {{42, 4}});
const Registered kAveragePooling2D = pooling<AveragePoolingSpec, 2>("AveragePooling2D")
                                         .doc("[H, W, C] -> [H', W', C]; the mean of each window")
                                         .example("pool_size: 2, padding: same", {{7, 6, 4}});
const Registered kAveragePooling3D = pooling<AveragePoolingSpec, 3>("AveragePooling3D")
                                         .doc("[D, H, W, C] -> [D', H', W', C]; the mean of each window")
                                         .example("", {{3, 7, 2, 4}});
const Registered kMaxPooling1D = pooling<MaxPoolingSpec, 1>("MaxPooling1D")
                                     .doc("[steps, C] -> [steps', C]; the largest value of each window")
                                     .example("pool_size: 3, strides: 2", {{42, 4}});
const Registered kMaxPooling2D = pooling<MaxPoolingSpec, 2>("MaxPooling2D")
                                     .doc("[H, W, C] -> [H', W', C]; the largest value of each window")
                                     .example("pool_size: 3, strides: 2", {{7, 6, 4}})
                                     .example("pool_size: 2", {{7, 6, 5}});
const Registered kMaxPooling3D = pooling<MaxPoolingSpec, 3>("MaxPooling3D")
                                     .doc("[D, H, W, C] -> [D', H', W', C]; the largest value of each window")
                                     .example("pool_size: [2, 3, 1], strides: 2, padding: same", {{3, 7, 2, 4}});

template <template <int> class SpecOf, int Rank>
LayerBuilder<SpecOf<Rank>> global_pooling(const char* name) {
  using Spec = SpecOf<Rank>;
  auto builder = layer<Spec>(name);
  builder.key(key("keepdims", &Spec::keepdims).doc("whether to keep the pooled axes with extent 1"))
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return joined(Axes(spec.keepdims ? std::size_t{Rank} : 0, 1), {in[0].back()});
      });
  return builder;
}

template <template <int> class SpecOf, int Rank>
SpecOf<2> global_image_of(const SpecOf<Rank>& spec) {
  return {spec.keepdims};
}

const Registered kGlobalAveragePooling1D =
    global_pooling<GlobalAveragePoolingSpec, 1>("GlobalAveragePooling1D")
        .doc("[steps, C] -> [C], or [1, C] with `keepdims`; the mean of each channel, without masked steps")
        .masks(MaskRule::kEnds)
        .uses_masks()
        .backward_reads(BackwardReads{.masks = true})
        .example("", {{42, 4}})
        .masked_example("", {{9, 5}});
const Registered kGlobalAveragePooling2D =
    global_pooling<GlobalAveragePoolingSpec, 2>("GlobalAveragePooling2D")
        .doc("[H, W, C] -> [C], or [1, 1, C] with `keepdims`; the mean of each channel")
        .example("", {{7, 6, 4}});
const Registered kGlobalAveragePooling3D =
    global_pooling<GlobalAveragePoolingSpec, 3>("GlobalAveragePooling3D")
        .doc("[D, H, W, C] -> [C], or [1, 1, 1, C] with `keepdims`; the mean of each channel")
        .computed_as(global_image_of<GlobalAveragePoolingSpec, 3>)
        .example("", {{3, 7, 2, 4}});
const Registered kGlobalMaxPooling1D =
    global_pooling<GlobalMaxPoolingSpec, 1>("GlobalMaxPooling1D")
        .doc("[steps, C] -> [C], or [1, C] with `keepdims`; the largest value of each channel")
        .computed_as(global_image_of<GlobalMaxPoolingSpec, 1>)
        .example("", {{42, 4}});
const Registered kGlobalMaxPooling2D =
    global_pooling<GlobalMaxPoolingSpec, 2>("GlobalMaxPooling2D")
        .doc("[H, W, C] -> [C], or [1, 1, C] with `keepdims`; the largest value of each channel")
        .example("", {{7, 6, 4}});
const Registered kGlobalMaxPooling3D =
    global_pooling<GlobalMaxPoolingSpec, 3>("GlobalMaxPooling3D")
        .doc("[D, H, W, C] -> [C], or [1, 1, 1, C] with `keepdims`; the largest value of each channel")
        .computed_as(global_image_of<GlobalMaxPoolingSpec, 3>)
        .example("", {{3, 7, 2, 4}});

}  // namespace
}  // namespace dptrain::nn
