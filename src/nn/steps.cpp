#include "nn/steps.h"

#include "config/json_fragment.h"
#include "config/reader.h"
#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::config {

bool Value<nn::Extent>::read(const Node& raw, Reader& reader, nn::Extent& out) {
  const Node node = reader.substituted(raw);
  if (!node.is_sequence()) return Value<std::int64_t>::read(node, reader, out.n);
  if (node.items().size() != 1) return reader.expected(node, "n or [n]"), false;
  return Value<std::int64_t>::read(node.items()[0], reader, out.n);
}

Node Value<nn::Extent>::write(const nn::Extent& extent) { return Node::integer(extent.n); }

Node Value<nn::Extent>::schema() {
  const Node number = Value<std::int64_t>::schema();
  return fragment::any_of({number, fragment::list(number)});
}

}  // namespace dptrain::config

namespace dptrain::nn {

std::int64_t windows(const Shape& in, Extent kernel, Extent stride, Extent dilation, Padding padding) {
  const std::int64_t out = window_axis(in[0], kernel.n, stride.n, dilation.n, padding).out;
  if (out < 1)
    throw LayerError(
        fmt::format("window {} is larger than the {} steps of {{0}}", (kernel.n - 1) * dilation.n + 1, in[0]));
  return out;
}

}  // namespace dptrain::nn
