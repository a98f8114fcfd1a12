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

template <template <int> class SpecOf, int Rank>
LayerBuilder<SpecOf<Rank>> pooling(const char* name) {
  using Spec = SpecOf<Rank>;
  constexpr bool kIsMax = std::is_same_v<Spec, MaxPoolingSpec<Rank>>;
  const std::string limit =
      kIsMax ? fmt::format(", at most {} values{}", kMaxPoolWindow, Rank == 3 ? " per frame and in depth" : "") : "";
  auto builder = layer<Spec>(name);
  builder
      .doc(fmt::format("{} -> {}; the {} of each window", shape_text(Rank), shape_text(Rank, "'"),
                       kIsMax ? "largest value" : "mean"))
      .positional(extent_key("pool_size", &Spec::pool_size)
                      .doc("size of the window: " + extents_text(Spec{}.pool_size) + limit))
      .key(extent_key("strides", &Spec::strides)
               .doc("distance between windows: " + extents_text(Spec{}.pool_size) + "; none: pool_size"))
      .key(padding_key<Spec>())
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

const Registered kAveragePooling1D =
    pooling<AveragePoolingSpec, 1>("AveragePooling1D").example("padding: same", {{42, 4}});
const Registered kAveragePooling2D =
    pooling<AveragePoolingSpec, 2>("AveragePooling2D").example("pool_size: 2, padding: same", {{7, 6, 4}});
const Registered kAveragePooling3D = pooling<AveragePoolingSpec, 3>("AveragePooling3D").example("", {{3, 7, 2, 4}});
const Registered kMaxPooling1D =
    pooling<MaxPoolingSpec, 1>("MaxPooling1D").example("pool_size: 3, strides: 2", {{42, 4}});
const Registered kMaxPooling2D = pooling<MaxPoolingSpec, 2>("MaxPooling2D")
                                     .example("pool_size: 3, strides: 2", {{7, 6, 4}})
                                     .example("pool_size: 2", {{7, 6, 5}});
const Registered kMaxPooling3D = pooling<MaxPoolingSpec, 3>("MaxPooling3D")
                                     .example("pool_size: [2, 3, 1], strides: 2, padding: same", {{3, 7, 2, 4}});

template <template <int> class SpecOf, int Rank>
SpecOf<2> global_image_of(const SpecOf<Rank>& spec) {
  return {spec.keepdims};
}

template <template <int> class SpecOf, int Rank>
LayerBuilder<SpecOf<Rank>> global_pooling(const char* name) {
  using Spec = SpecOf<Rank>;
  constexpr bool kIsMax = std::is_same_v<Spec, GlobalMaxPoolingSpec<Rank>>;
  auto builder = layer<Spec>(name);
  builder.doc(fmt::format("{} -> [C]; the {} of each channel", shape_text(Rank), kIsMax ? "largest value" : "mean"))
      .key(key("keepdims", &Spec::keepdims).doc("whether to keep the pooled axes with extent 1"))
      .inputs(1)
      .of_rank(Rank + 1)
      .output([](const Spec& spec, std::span<const Shape> in) {
        return joined(Axes(spec.keepdims ? std::size_t{Rank} : 0, 1), {in[0].back()});
      });
  if constexpr (Rank == 3 || (Rank == 1 && kIsMax)) builder.computed_as(global_image_of<SpecOf, Rank>);
  return builder;
}

const Registered kGlobalAveragePooling1D = global_pooling<GlobalAveragePoolingSpec, 1>("GlobalAveragePooling1D")
                                               .doc("[steps, C] -> [C]; the mean of each channel, without masked steps")
                                               .masks(MaskRule::kEnds)
                                               .uses_masks()
                                               .backward_reads(BackwardReads{.masks = true})
                                               .example("", {{42, 4}})
                                               .masked_example("", {{9, 5}});
const Registered kGlobalAveragePooling2D =
    global_pooling<GlobalAveragePoolingSpec, 2>("GlobalAveragePooling2D").example("", {{7, 6, 4}});
const Registered kGlobalAveragePooling3D =
    global_pooling<GlobalAveragePoolingSpec, 3>("GlobalAveragePooling3D").example("", {{3, 7, 2, 4}});
const Registered kGlobalMaxPooling1D =
    global_pooling<GlobalMaxPoolingSpec, 1>("GlobalMaxPooling1D").example("", {{42, 4}});
const Registered kGlobalMaxPooling2D =
    global_pooling<GlobalMaxPoolingSpec, 2>("GlobalMaxPooling2D").example("", {{7, 6, 4}});
const Registered kGlobalMaxPooling3D =
    global_pooling<GlobalMaxPoolingSpec, 3>("GlobalMaxPooling3D").example("", {{3, 7, 2, 4}});

}  // namespace
}  // namespace dptrain::nn
