#include "nn/resizing.h"

#include <algorithm>

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"
#include "nn/volume_passes.h"

namespace dptrain::nn {
namespace {

Shape output(const Cropping1DSpec& spec, std::span<const Shape> in) {
  const std::int64_t taken = spec.cropping.before + spec.cropping.after, steps = in[0][0] - taken;
  if (steps < 1) throw LayerError(fmt::format("cropping takes {} steps, {{0}} has {}", taken, in[0][0]));
  return {steps, in[0][1]};
}

const Registered kCropping1D =
    layer<Cropping1DSpec>("Cropping1D")
        .positional(key("cropping", &Cropping1DSpec::cropping).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(2)
        .output(output)
        .computed_as(+[](const Cropping1DSpec& spec) { return Cropping2DSpec{along(spec.cropping)}; });

Shape output(const Cropping2DSpec& spec, std::span<const Shape> in) {
  const Sides& c = spec.cropping;
  const std::int64_t h = in[0][0] - c.top - c.bottom, w = in[0][1] - c.left - c.right;
  if (h < 1 || w < 1)
    throw LayerError(fmt::format("cropping takes {} rows and {} columns, {{0}} has {} and {}", c.top + c.bottom,
                                 c.left + c.right, in[0][0], in[0][1]));
  return {h, w, in[0][2]};
}

const Registered kCropping2D =
    layer<Cropping2DSpec>("Cropping2D")
        .positional(key("cropping", &Cropping2DSpec::cropping).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(3)
        .output(output);

Shape output(const Cropping3DSpec& spec, std::span<const Shape> in) {
  const auto taken = [](const Ends& ends) { return ends.before + ends.after; };
  const std::int64_t d = taken(spec.cropping.depth), h = taken(spec.cropping.height), w = taken(spec.cropping.width);
  const Shape out{in[0][0] - d, in[0][1] - h, in[0][2] - w, in[0][3]};
  if (std::min({out[0], out[1], out[2]}) < 1)
    throw LayerError(fmt::format("cropping takes {} frames, {} rows and {} columns, {{0}} has {}, {} and {}", d, h, w,
                                 in[0][0], in[0][1], in[0][2]));
  return out;
}

const Registered kCropping3D =
    layer<Cropping3DSpec>("Cropping3D")
        .positional(key("cropping", &Cropping3DSpec::cropping).at_least(0).check(BoundedVolume{}))
        .inputs(1)
        .of_rank(4)
        .output(output);

const ComputedInPasses kCropping3DPasses(+[](const Cropping3DSpec& spec) {
  VolumePasses passes{.frames = layer_family().make(Cropping2DSpec{within_frame(spec.cropping)})};
  const Ends& depth = spec.cropping.depth;
  if (depth.before + depth.after > 0) passes.depth = layer_family().make(Cropping2DSpec{along_depth(spec.cropping)});
  return passes;
});

const Registered kZeroPadding1D =
    layer<ZeroPadding1DSpec>("ZeroPadding1D")
        .positional(key("padding", &ZeroPadding1DSpec::padding).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(2)
        .output([](const ZeroPadding1DSpec& spec, std::span<const Shape> in) {
          return Shape{in[0][0] + spec.padding.before + spec.padding.after, in[0][1]};
        })
        .computed_as(+[](const ZeroPadding1DSpec& spec) { return ZeroPadding2DSpec{along(spec.padding)}; });

const Registered kZeroPadding2D =
    layer<ZeroPadding2DSpec>("ZeroPadding2D")
        .positional(key("padding", &ZeroPadding2DSpec::padding).at_least(0).check(BoundedSides{}))
        .inputs(1)
        .of_rank(3)
        .output([](const ZeroPadding2DSpec& spec, std::span<const Shape> in) {
          const auto& p = spec.padding;
          return Shape{in[0][0] + p.top + p.bottom, in[0][1] + p.left + p.right, in[0][2]};
        });

Shape output(const ZeroPadding3DSpec& spec, std::span<const Shape> in) {
  const auto padded = [&](int axis, const Ends& ends) { return in[0][axis] + ends.before + ends.after; };
  const VolumeSides& p = spec.padding;
  return {padded(0, p.depth), padded(1, p.height), padded(2, p.width), in[0][3]};
}

const Registered kZeroPadding3D =
    layer<ZeroPadding3DSpec>("ZeroPadding3D")
        .positional(key("padding", &ZeroPadding3DSpec::padding).at_least(0).check(BoundedVolume{}))
        .inputs(1)
        .of_rank(4)
        .output(output);

const ComputedInPasses kZeroPadding3DPasses(+[](const ZeroPadding3DSpec& spec) {
  VolumePasses passes{.frames = layer_family().make(ZeroPadding2DSpec{within_frame(spec.padding)})};
  const Ends& depth = spec.padding.depth;
  if (depth.before + depth.after > 0) passes.depth = layer_family().make(ZeroPadding2DSpec{along_depth(spec.padding)});
  return passes;
});

Shape output(const UpSampling1DSpec& spec, std::span<const Shape> in) {
  const std::int64_t steps = in[0][0] * spec.size;
  if (steps > kMaxExtent)
    throw LayerError(fmt::format("size {} makes {} steps of {}, more than {}", spec.size, steps, in[0][0], kMaxExtent));
  return {steps, in[0][1]};
}

const Registered kUpSampling1D = layer<UpSampling1DSpec>("UpSampling1D")
                                     .positional(key("size", &UpSampling1DSpec::size).at_least(1).check(Bounded{}))
                                     .inputs(1)
                                     .of_rank(2)
                                     .output(output)
                                     .computed_as(+[](const UpSampling1DSpec& spec) {
                                       return UpSampling2DSpec{.size = {1, spec.size}};
                                     });

Shape output(const UpSampling2DSpec& spec, std::span<const Shape> in) {
  const std::int64_t h = in[0][0] * spec.size.h, w = in[0][1] * spec.size.w;
  if (h > kMaxExtent || w > kMaxExtent)
    throw LayerError(fmt::format("size {}x{} makes {}x{} of {}x{}, more than {}", spec.size.h, spec.size.w, h, w,
                                 in[0][0], in[0][1], kMaxExtent));
  return {h, w, in[0][2]};
}

const Registered kUpSampling2D = layer<UpSampling2DSpec>("UpSampling2D")
                                     .positional(key("size", &UpSampling2DSpec::size).at_least(1).check(Bounded{}))
                                     .key(key("interpolation", &UpSampling2DSpec::interpolation))
                                     .inputs(1)
                                     .of_rank(3)
                                     .output(output);

Shape output(const UpSampling3DSpec& spec, std::span<const Shape> in) {
  const Size3& size = spec.size;
  const Shape out{in[0][0] * size.d, in[0][1] * size.h, in[0][2] * size.w, in[0][3]};
  if (std::max({out[0], out[1], out[2]}) > kMaxExtent)
    throw LayerError(fmt::format("size {}x{}x{} makes {}x{}x{} of {}x{}x{}, more than {}", size.d, size.h, size.w,
                                 out[0], out[1], out[2], in[0][0], in[0][1], in[0][2], kMaxExtent));
  return out;
}

const Registered kUpSampling3D =
    layer<UpSampling3DSpec>("UpSampling3D")
        .positional(key("size", &UpSampling3DSpec::size).at_least(1).check(BoundedVolume{}))
        .inputs(1)
        .of_rank(4)
        .output(output);

const ComputedInPasses kUpSampling3DPasses(+[](const UpSampling3DSpec& spec) {
  VolumePasses passes{.frames = layer_family().make(UpSampling2DSpec{.size = within_frame(spec.size)})};
  if (spec.size.d > 1) passes.depth = layer_family().make(UpSampling2DSpec{.size = along_depth(spec.size)});
  return passes;
});

const Registered kResizing = layer<ResizingSpec>("Resizing")
                                 .key(key("height", &ResizingSpec::height).required().at_least(1).check(Bounded{}))
                                 .key(key("width", &ResizingSpec::width).required().at_least(1).check(Bounded{}))
                                 .key(key("interpolation", &ResizingSpec::interpolation))
                                 .inputs(1)
                                 .of_rank(3)
                                 .output([](const ResizingSpec& spec, std::span<const Shape> in) {
                                   return Shape{spec.height, spec.width, in[0][2]};
                                 });

}  // namespace
}  // namespace dptrain::nn
