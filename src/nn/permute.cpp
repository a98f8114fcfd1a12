#include "nn/permute.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const PermuteSpec& spec, std::span<const Shape> in) {
  if (spec.dims.rank() != in[0].rank())
    throw LayerError(fmt::format("{{0}} is {} with {} ax{}s, dims names {}", in[0].str(), in[0].rank(),
                                 in[0].rank() == 1 ? "i" : "e", spec.dims.rank()));
  std::vector<std::int64_t> out;
  for (const std::int64_t axis : spec.dims.dims()) out.push_back(in[0][static_cast<int>(axis - 1)]);
  return Shape(std::move(out));
}

std::string permute_complaint(const Shape& dims) {
  std::vector<bool> seen(dims.dims().size() + 1);
  for (const std::int64_t axis : dims.dims()) {
    if (axis > dims.rank() || seen[static_cast<std::size_t>(axis)])
      return fmt::format("must hold each of 1 to {} once", dims.rank());
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return dims.rank() == 0 ? "must not be empty" : "";
}

const Registered kPermute =
    layer<PermuteSpec>("Permute")
        .positional(key("dims", &PermuteSpec::dims).required().at_least(1).check(permute_complaint))
        .inputs(1)
        .output(output);

}  // namespace
}  // namespace dptrain::nn
