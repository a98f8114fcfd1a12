#pragma once

// Converts each type of layer to ONNX: a function adds the layer's nodes to a graph. It is registered by the type of
// the spec in layers/, with a file per theme:
//   const RegisteredForm kFlatten = form<nn::FlattenSpec>([](const nn::FlattenSpec&, Call& call) { ... });
// The table is filled before main and read-only afterwards: any thread may read it.

#include <functional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "config/family.h"
#include "config/registry.h"
#include "formats/onnx/onnx_builder.h"
#include "graph/model.h"
#include "nn/reshaping.h"

namespace dptrain::formats::onnx {

/// Element type of an Input.
inline Element element_of(const nn::InputSpec& spec) {
  return spec.dtype == nn::InputType::kInt32 ? Element::kInt32 : Element::kFloat;
}

/// One call of a layer.
struct Call {
  Builder& to;
  std::vector<Value> inputs;                  ///< in dptrain's layout
  std::vector<Value> masks;                   ///< mask of each input, bool [batch, steps]; without a name: none
  std::vector<const graph::Weight*> weights;  ///< weights of the layer, in its order
  std::string layer;                          ///< its name
  Shape output;                               ///< shape of one sample of the first output

  const Value& x() const { return inputs.front(); }
  /// By Keras's name, or the part of it after a "/"; null where the layer has none.
  const graph::Weight* find(const std::string& name) const;
  const graph::Weight& weight(const std::string& name) const;
  /// The weight unchanged, or with its axes permuted and then reshaped to `dims`.
  Value constant(const graph::Weight& weight) const;
  Value constant(const graph::Weight& weight, const std::vector<std::int64_t>& perm, const Dims& dims) const;
  /// A constant computed from weights, once for all calls of the layer; `what` identifies it within the layer.
  Value made(const std::string& what, const Dims& dims, const std::function<std::vector<float>()>& values) const;
  bool masked() const;
};

using Write = std::function<std::vector<Value>(const void* spec, Call& call)>;

struct Form {
  Write write;
  bool uses_masks = false;  ///< reads Call::masks
};

template <class Spec>
struct FormBuilder {
  Form form;
  FormBuilder&& uses_masks() && { return form.uses_masks = true, std::move(*this); }
  Form build() && { return std::move(form); }
};

/// `write` returns the layer's output, or a vector of outputs.
template <class Spec, class Function>
FormBuilder<Spec> form(Function write) {
  return {{.write = [write](const void* spec, Call& call) -> std::vector<Value> {
    if constexpr (std::is_same_v<std::invoke_result_t<Function, const Spec&, Call&>, Value>)
      return {write(*static_cast<const Spec*>(spec), call)};
    else
      return write(*static_cast<const Spec*>(spec), call);
  }}};
}

config::Registry<std::type_index, Form>& forms();
/// The outputs of a layer, which may be nested in another one. Throws Error{kUsage}.
std::vector<Value> write_layer(const config::Typed& layer, Call& call);

using RegisteredForm = config::SpecRegistration<forms>;

/// One function for several types.
template <class... Specs>
struct RegisteredForms {
  template <class Function>
  explicit RegisteredForms(Function write) {
    (forms().add(typeid(Specs), form<Specs>(write).build()), ...);
  }
};

}  // namespace dptrain::formats::onnx
