#include "nn/reshaping.h"

#include <algorithm>

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kInput =
    layer<InputSpec>("Input")
        .doc("nothing -> `shape`; an input of the model")
        .positional(key("shape", &InputSpec::shape)
                        .required()
                        .at_least(1)
                        .check([](const Shape& shape) {
                          const bool sane = shape.rank() >= 1 && shape.rank() <= 6;
                          return sane ? ExtentCheck{}(shape)
                                      : std::string("must have 1 to 6 extents (without the batch)");
                        })
                        .doc("1 to 6 extents of one sample, without the batch, such as [height, width, channels]"))
        .key(key("dtype", &InputSpec::dtype).doc("type of the numbers: int32 are ids, which Embedding reads"))
        .inputs(0)
        .outputs([](const InputSpec& spec, std::span<const TensorDef>) {
          return std::vector<OutputDef>{{"", spec.shape, spec.dtype == InputType::kInt32 ? DType::kI32 : DType::kF32}};
        });

const Registered kFlatten =
    layer<FlattenSpec>("Flatten")
        .doc("any -> [elements]")
        .inputs(1)
        .view()
        .output([](const FlattenSpec&, std::span<const Shape> in) { return Shape{in[0].elements()}; });

std::vector<OutputDef> outputs(const MaskingSpec&, std::span<const TensorDef> in) {
  if (in[0].shape.rank() < 2) throw LayerError("{0} is " + in[0].shape.str() + ", expected steps of features");
  std::vector<std::int64_t> steps = in[0].shape.dims();
  steps.pop_back();
  return {{"", in[0].shape, DType::kF32}, mask_output(Shape(std::move(steps)))};
}

const Registered kMasking =
    layer<MaskingSpec>("Masking")
        .doc("[..., features] -> same; masks the steps that contain only `mask_value`, and sets them to zero")
        .positional(
            key("mask_value", &MaskingSpec::mask_value).doc("steps whose features all have this value are masked"))
        .inputs(1)
        .outputs(outputs)
        .masks(MaskRule::kProduces)
        .backward_reads(BackwardReads{.output = true})
        .masked_example("mask_value: 0", {{9, 5}});

Shape output(const PermuteSpec& spec, std::span<const Shape> in) {
  if (spec.dims.rank() != in[0].rank())
    throw LayerError(fmt::format("{{0}} is {} with {} ax{}s, dims names {}", in[0].str(), in[0].rank(),
                                 in[0].rank() == 1 ? "i" : "e", spec.dims.rank()));
  std::vector<std::int64_t> out;
  for (const std::int64_t axis : spec.dims.dims()) out.push_back(in[0][static_cast<int>(axis - 1)]);
  return Shape(std::move(out));
}

std::string permute_error(const Shape& dims) {
  std::vector<bool> seen(dims.dims().size() + 1);
  for (const std::int64_t axis : dims.dims()) {
    if (axis > dims.rank() || seen[static_cast<std::size_t>(axis)])
      return fmt::format("must hold each of 1 to {} once", dims.rank());
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return dims.rank() == 0 ? "must not be empty" : "";
}

const Registered kPermute = layer<PermuteSpec>("Permute")
                                .doc("any -> the same axes in another order, [a, b, c] -> [c, a, b] with [3, 1, 2]")
                                .positional(key("dims", &PermuteSpec::dims)
                                                .required()
                                                .at_least(1)
                                                .check(permute_error)
                                                .doc("axes in their new order, counted from 1"))
                                .inputs(1)
                                .output(output)
                                .example("dims: [3, 1, 2]", {{7, 6, 4}})
                                .example("dims: [2, 1, 3]", {{7, 6, 5}});

const Registered kRepeatVector =
    layer<RepeatVectorSpec>("RepeatVector")
        .doc("[features] -> [n, features]")
        .positional(extent_key("n", &RepeatVectorSpec::n).required().doc("number of copies"))
        .inputs(1)
        .of_rank(1)
        .output([](const RepeatVectorSpec& spec, std::span<const Shape> in) {
          return Shape{spec.n, in[0][0]};
        })
        .example("n: 5", {{4}});

Shape output(const ReshapeSpec& spec, std::span<const Shape> in) {
  const std::int64_t elements = in[0].elements();
  std::vector<std::int64_t> dims = spec.target_shape.dims();
  std::int64_t known = 1;
  for (const std::int64_t d : dims) {
    if (d != -1) known *= d;
    if (known > elements) break;  // too many; stops before the product overflows
  }
  const auto open = std::find(dims.begin(), dims.end(), -1);
  const bool fits = open == dims.end() ? known == elements : known <= elements && elements % known == 0;
  if (!fits)
    throw LayerError(fmt::format("{{0}} is {} with {} elements, which do not fill target_shape {}", in[0].str(),
                                 elements, spec.target_shape.str()));
  if (open != dims.end()) *open = elements / known;
  return Shape(std::move(dims));
}

std::string reshape_error(const Shape& target) {
  const auto& dims = target.dims();
  if (dims.empty() || dims.size() > 6) return "must have 1 to 6 extents (without the batch)";
  if (std::count(dims.begin(), dims.end(), -1) > 1) return "may hold -1 only once";
  if (std::count(dims.begin(), dims.end(), 0) > 0) return "must not hold 0";
  return ExtentCheck{}(target);
}

const Registered kReshape =
    layer<ReshapeSpec>("Reshape")
        .doc("any -> `target_shape`; the order of the values stays")
        .positional(key("target_shape", &ReshapeSpec::target_shape)
                        .required()
                        .at_least(-1)
                        .check(reshape_error)
                        .doc("1 to 6 extents of one sample; one can be -1, for the remaining values"))
        .inputs(1)
        .view()
        .output(output);

}  // namespace
}  // namespace dptrain::nn
