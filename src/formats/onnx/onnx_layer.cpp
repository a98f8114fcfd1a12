#include "formats/onnx/onnx_layer.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::formats::onnx {

config::Registry<std::type_index, Form>& forms() {
  static config::Registry<std::type_index, Form> all;
  return all;
}

const graph::Weight* Call::find(const std::string& name) const {
  const auto found = std::ranges::find_if(weights, [&](const graph::Weight* weight) {
    return weight->def.name == name || weight->def.name.ends_with("/" + name);
  });
  return found == weights.end() ? nullptr : *found;
}

const graph::Weight& Call::weight(const std::string& name) const {
  const graph::Weight* found = find(name);
  if (found == nullptr) throw Error(ErrorKind::kInternal, fmt::format("'{}' has no weight '{}'", layer, name));
  return *found;
}

Value Call::constant(const graph::Weight& weight) const {
  return to.named(layer + "/" + weight.def.name, weight.def.shape.dims(), [&] { return weight.values; });
}

Value Call::constant(const graph::Weight& weight, const std::vector<std::int64_t>& perm, const Dims& dims) const {
  return to.named(layer + "/" + weight.def.name, dims,
                  [&] { return permuted(std::span<const float>(weight.values), weight.def.shape.dims(), perm); });
}

Value Call::made(const std::string& what, const Dims& dims, const std::function<std::vector<float>()>& values) const {
  return to.named(layer + "/" + what, dims, values);
}

bool Call::masked() const {
  return std::ranges::any_of(masks, [](const Value& mask) { return !mask.name.empty(); });
}

std::vector<Value> write_layer(const config::Typed& layer, Call& call) {
  const Form* form = forms().find(layer.type());
  if (form == nullptr)
    throw Error(ErrorKind::kUsage,
                fmt::format("ONNX: layer '{}': this version cannot export {}", call.layer, layer.name()));
  if (nn::type_of(layer).uses_masks && !form->uses_masks && call.masked())
    throw Error(ErrorKind::kUsage, fmt::format("ONNX: layer '{}': this version cannot export {} under a mask; set "
                                               "mask_zero: false in the Embedding before it, or remove the Masking",
                                               call.layer, layer.name()));
  return form->write(layer.spec(), call);
}

}  // namespace dptrain::formats::onnx
