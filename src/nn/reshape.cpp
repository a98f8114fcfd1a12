#include "nn/reshape.h"

#include <algorithm>

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const ReshapeSpec& spec, std::span<const Shape> in) {
  const std::int64_t elements = in[0].elements();
  std::vector<std::int64_t> dims = spec.target_shape.dims();
  std::int64_t known = 1;
  for (const std::int64_t d : dims) {
    if (d != -1) known *= d;
    if (known > elements) break;  // too many already; before the product can overflow
  }
  const auto open = std::find(dims.begin(), dims.end(), -1);
  const bool fits = open == dims.end() ? known == elements : known <= elements && elements % known == 0;
  if (!fits)
    throw LayerError(fmt::format("{{0}} is {} with {} elements, which do not fill target_shape {}", in[0].str(),
                                 elements, spec.target_shape.str()));
  if (open != dims.end()) *open = elements / known;
  return Shape(std::move(dims));
}

std::string reshape_complaint(const Shape& target) {
  const auto& dims = target.dims();
  if (dims.empty() || dims.size() > 6) return "must have 1 to 6 extents (without the batch)";
  if (std::count(dims.begin(), dims.end(), -1) > 1) return "may hold -1 only once";
  if (std::count(dims.begin(), dims.end(), 0) > 0) return "must not hold 0";
  return Bounded{}(target);
}

const Registered kReshape =
    layer<ReshapeSpec>("Reshape")
        .positional(key("target_shape", &ReshapeSpec::target_shape).required().at_least(-1).check(reshape_complaint))
        .inputs(1)
        .view()
        .output(output);

}  // namespace
}  // namespace dptrain::nn
