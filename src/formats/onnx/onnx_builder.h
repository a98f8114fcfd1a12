#pragma once

// Builder adds nodes to an ONNX graph and tracks names and shapes. Activations are in dptrain's layout, batch first and
// channels last. Ops that need channels-first data get a Transpose before and after them, and transposes.h removes
// those that cancel. The writer of a file owns it; one thread.

#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "formats/onnx/onnx_graph.h"
#include "nn/activations.h"

namespace dptrain::formats::onnx {

class Builder {
 public:
  using Attributes = std::vector<Attribute>;
  using Perm = std::vector<std::int64_t>;

  /// `prefix`: for names of constants, which in a nested graph must differ from those of the outer one.
  Builder(std::string name, int opset, std::string prefix = "") : opset_(opset), prefix_(std::move(prefix)) {
    graph_.name = std::move(name);
  }

  int opset() const noexcept { return opset_; }
  /// For later nodes: axis 1 may have any extent, and the file omits it if a tensor determines it.
  void free_steps(bool free) { steps_are_free_ = free; }
  bool steps_are_free() const noexcept { return steps_are_free_; }
  /// For later nodes: the step's name.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const noexcept { return scope_; }
  Graph& graph() noexcept { return graph_; }
  /// An unused name: `wanted`, with a number if necessary.
  std::string unique(const std::string& wanted);

  Value input(const std::string& name, const Dims& dims, Element type);

  // Constants. Each name is in the file once.
  Value scalar(float value);
  Value floats(const Dims& dims, std::vector<float> values);
  Value doubles(const Dims& dims, std::vector<double> values);
  Value integers(std::vector<std::int64_t> values);
  Value named(const std::string& name, const Dims& dims, const std::function<std::vector<float>()>& values);

  // Nodes. `dims` and `type` describe the output.
  Value node(const std::string& op, const std::vector<Value>& inputs, Dims dims, Attributes attributes = {},
             Element type = Element::kFloat);
  std::vector<Value> node(const std::string& op, const std::vector<Value>& inputs, const std::vector<Dims>& outputs,
                          Attributes attributes = {});
  /// Elementwise, with the shape of x.
  Value unary(const std::string& op, const Value& x, Attributes attributes = {});
  /// Elementwise; broadcasts extents of 1 and missing leading axes.
  Value binary(const std::string& op, const Value& a, const Value& b, Element type = Element::kFloat);
  Value matmul(const Value& a, const Value& b);
  Value transpose(const Value& x, const Perm& perm);
  /// [batch, H, W, C] to [batch, C, H, W], for any number of axes, and back.
  Value channels_first(const Value& x);
  Value channels_last(const Value& x);
  /// One extent may be -1; 0 has no special meaning.
  Value reshape(const Value& x, const Dims& dims);
  /// To samples of that shape.
  Value to_samples(const Value& x, const Shape& shape);
  Value reduce(const std::string& op, const Value& x, const std::vector<std::int64_t>& axes, bool keepdims);
  Value concat(const std::vector<Value>& parts, std::int64_t axis);
  /// [start, end) of an axis, or, with a step of -1, all of it backwards.
  Value slice(const Value& x, std::int64_t axis, std::int64_t start, std::int64_t end, std::int64_t step = 1);
  Value flip(const Value& x, std::int64_t axis);
  Value pad(const Value& x, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after);
  Value cast(const Value& x, Element type);
  /// `a` where the condition holds.
  Value where(const Value& condition, const Value& a, const Value& b);
  Value activate(const Value& x, nn::Activation activation);
  /// The extents of the axes [first, end) of x, computed with the model.
  Value extents(const Value& x, std::int64_t first, std::int64_t end);
  /// [batch, extents...] of zeros, for as many samples as x has.
  Value zeros_like_batch(const Value& x, const Dims& sample);

 private:
  Graph graph_;
  int opset_;
  bool steps_are_free_ = false;
  std::string prefix_, scope_;
  std::set<std::string> taken_;
};

/// The shape of one sample.
Shape sample_of(const Value& value);
Dims with_batch(const Shape& sample);
/// Row-major values with their axes in another order: axis i of the result is axis perm[i].
std::vector<float> permuted(std::span<const float> values, const Dims& dims, const std::vector<std::int64_t>& perm);
Dims permuted(const Dims& dims, const std::vector<std::int64_t>& perm);

}  // namespace dptrain::formats::onnx
