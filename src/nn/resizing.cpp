#include "nn/resizing.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/format.h"
#include "core/text.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

/// "4 frames, 2 rows and 2 columns", or with `units` false "4, 2 and 2".
std::string extents_text(const Axes& extents, bool units) {
  static const std::vector<std::vector<const char*>> kUnits{
      {" steps"}, {" rows", " columns"}, {" frames", " rows", " columns"}};
  std::string text;
  for (std::size_t i = 0; i < extents.size(); ++i)
    text += (i == 0                    ? ""
             : i + 1 == extents.size() ? " and "
                                       : ", ") +
            std::to_string(extents[i]) + (units ? kUnits[extents.size() - 1][i] : "");
  return text;
}

/// `in` with `sign` times these numbers added to the extents.
Shape changed_shape(const Shape& in, const Axes& sums, std::int64_t sign) {
  Axes dims = in.dims();
  for (std::size_t i = 0; i < sums.size(); ++i) dims[i] += sign * sums[i];
  return Shape(std::move(dims));
}

template <int Rank>
Shape cropped_shape(const CroppingSpec<Rank>& spec, std::span<const Shape> in) {
  const Axes sums = axes(spec.cropping);
  Shape out = changed_shape(in[0], sums, -1);
  Axes extents = in[0].dims();
  extents.resize(Rank);
  if (std::ranges::any_of(out.dims().begin(), out.dims().begin() + Rank, [](std::int64_t n) { return n < 1; }))
    throw LayerError(
        fmt::format("cropping takes {}, {{0}} has {}", extents_text(sums, true), extents_text(extents, false)));
  return out;
}

template <int Rank>
Shape padded_shape(const ZeroPaddingSpec<Rank>& spec, std::span<const Shape> in) {
  return changed_shape(in[0], axes(spec.padding), 1);
}

/// The margins within frames, then, if there are any, those along the depth.
template <class Image>
VolumePasses margin_passes(const Margins3D& margins) {
  VolumePasses passes{.frames = layer_family().make(Image{within_frame(margins)})};
  if (margins.depth.sum() > 0) passes.depth = layer_family().make(Image{along_depth(margins)});
  return passes;
}

/// The key of a padding or cropping: numbers of elements at the ends of each axis. `text`: description.
template <int Rank, class Spec>
auto margins_key(const char* name, Margins<Rank> Spec::*member, const std::string& text) {
  static constexpr const char* kForms[] = {
      "n or [before, after]", "n, [height, width] or [[top, bottom], [left, right]]",
      "n, [depth, height, width] or [[before, after], [top, bottom], [left, right]]"};
  return key(name, member).at_least(0).check(ExtentCheck{}).doc(text + " at each end: " + kForms[Rank - 1]);
}

template <int Rank>
LayerBuilder<CroppingSpec<Rank>> cropping(const char* name) {
  using Spec = CroppingSpec<Rank>;
  auto builder = layer<Spec>(name);
  builder.doc(shape_text(Rank) + " -> " + shape_text(Rank, " - ...") + "; removes values at the ends")
      .positional(margins_key<Rank>("cropping", &Spec::cropping, "size removed"))
      .inputs(1)
      .of_rank(Rank + 1)
      .output(cropped_shape<Rank>);
  return builder;
}

template <int Rank>
LayerBuilder<ZeroPaddingSpec<Rank>> zero_padding(const char* name) {
  using Spec = ZeroPaddingSpec<Rank>;
  auto builder = layer<Spec>(name);
  builder.doc(shape_text(Rank) + " -> " + shape_text(Rank, " + ...") + "; adds zeros at the ends")
      .positional(margins_key<Rank>("padding", &Spec::padding, "size added"))
      .inputs(1)
      .of_rank(Rank + 1)
      .output(padded_shape<Rank>);
  return builder;
}

const Registered kCropping1D =
    cropping<1>("Cropping1D")
        .computed_as(+[](const Cropping1DSpec& spec) { return Cropping2DSpec{along(spec.cropping)}; })
        .example("", {{42, 4}});
const Registered kCropping2D = cropping<2>("Cropping2D").example("cropping: 1", {{7, 6, 4}});
const Registered kCropping3D =
    cropping<3>("Cropping3D")
        .computed_in_passes([](const Cropping3DSpec& spec) { return margin_passes<Cropping2DSpec>(spec.cropping); })
        .example("cropping: [1, 2, 0]", {{3, 7, 2, 4}});
const Registered kZeroPadding1D =
    zero_padding<1>("ZeroPadding1D")
        .computed_as(+[](const ZeroPadding1DSpec& spec) { return ZeroPadding2DSpec{along(spec.padding)}; })
        .example("padding: [1, 2]", {{42, 4}});
const Registered kZeroPadding2D = zero_padding<2>("ZeroPadding2D").example("padding: [[1, 2], [0, 3]]", {{7, 6, 4}});
const Registered kZeroPadding3D = zero_padding<3>("ZeroPadding3D")
                                      .computed_in_passes([](const ZeroPadding3DSpec& spec) {
                                        return margin_passes<ZeroPadding2DSpec>(spec.padding);
                                      })
                                      .example("padding: [[1, 0], [1, 2], [0, 3]]", {{3, 7, 2, 4}});

std::string factors_text(const Axes& extents) {
  std::vector<std::string> words;
  for (const std::int64_t n : extents) words.push_back(std::to_string(n));
  return join(words, "x");
}

/// The first extents of `in` times `size`. Throws LayerError.
Shape enlarged_shape(const Shape& in, const Axes& size) {
  Axes old = in.dims(), all = in.dims();
  old.resize(size.size());
  for (std::size_t i = 0; i < size.size(); ++i) all[i] *= size[i];
  const Axes extents(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size.size()));
  if (std::ranges::max(extents) > kMaxExtent)
    throw LayerError(fmt::format("size {} makes {}{} of {}, more than {}", factors_text(size), factors_text(extents),
                                 size.size() == 1 ? " steps" : "", factors_text(old), kMaxExtent));
  return Shape(std::move(all));
}

const Registered kUpSampling1D = layer<UpSampling1DSpec>("UpSampling1D")
                                     .doc("[steps, C] -> [steps * size, C]; repeats each step")
                                     .positional(extent_key("size", &UpSampling1DSpec::size).doc("factor"))
                                     .inputs(1)
                                     .of_rank(2)
                                     .output([](const UpSampling1DSpec& spec, std::span<const Shape> in) {
                                       return enlarged_shape(in[0], {spec.size});
                                     })
                                     .computed_as(+[](const UpSampling1DSpec& spec) {
                                       return UpSampling2DSpec{.size = {1, spec.size}};
                                     })
                                     .example("", {{42, 4}});

const Registered kUpSampling2D =
    layer<UpSampling2DSpec>("UpSampling2D")
        .doc("[H, W, C] -> [H * h, W * w, C] with `size` [h, w]")
        .positional(extent_key("size", &UpSampling2DSpec::size).doc("factor, or [height, width]"))
        .key(key("interpolation", &UpSampling2DSpec::interpolation).doc("how values between pixels are computed"))
        .inputs(1)
        .of_rank(3)
        .output([](const UpSampling2DSpec& spec, std::span<const Shape> in) {
          return enlarged_shape(in[0], axes(spec.size));
        })
        .example("size: 2, interpolation: bilinear", {{7, 6, 4}})
        .example("size: 2", {{7, 6, 5}});

const Registered kUpSampling3D =
    layer<UpSampling3DSpec>("UpSampling3D")
        .doc("[D, H, W, C] -> [D * d, H * h, W * w, C] with `size` [d, h, w]; repeats each value")
        .positional(extent_key("size", &UpSampling3DSpec::size).doc("factor, or [depth, height, width]"))
        .inputs(1)
        .of_rank(4)
        .output([](const UpSampling3DSpec& spec, std::span<const Shape> in) {
          return enlarged_shape(in[0], axes(spec.size));
        })
        .computed_in_passes([](const UpSampling3DSpec& spec) {
          VolumePasses passes{.frames = layer_family().make(UpSampling2DSpec{.size = within_frame(spec.size)})};
          if (spec.size.d > 1) passes.depth = layer_family().make(UpSampling2DSpec{.size = along_depth(spec.size)});
          return passes;
        })
        .example("size: [2, 1, 3]", {{3, 7, 2, 4}});

const Registered kResizing =
    layer<ResizingSpec>("Resizing")
        .doc("[H, W, C] -> [height, width, C], without antialias")
        .key(extent_key("height", &ResizingSpec::height).required().doc("rows of the result"))
        .key(extent_key("width", &ResizingSpec::width).required().doc("columns of the result"))
        .key(key("interpolation", &ResizingSpec::interpolation).doc("how values between pixels are computed"))
        .inputs(1)
        .of_rank(3)
        .output([](const ResizingSpec& spec, std::span<const Shape> in) {
          return Shape{spec.height, spec.width, in[0][2]};
        })
        .example("height: 5, width: 9", {{7, 6, 4}});

}  // namespace
}  // namespace dptrain::nn
