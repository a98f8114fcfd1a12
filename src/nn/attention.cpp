#include "nn/attention.h"

#include <algorithm>

#include "core/format.h"
#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

/// Throws LayerError unless query, value and, with three inputs, key are [steps, features].
void require_steps(std::span<const Shape> in) {
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i].rank() != 2)
      throw LayerError(fmt::format("expected inputs of 2 axes (steps, features), {{{}}} is {}", i, in[i].str()));
  if (in.size() == 3 && in[1][0] != in[2][0])
    throw LayerError(fmt::format("value and key must have the same number of steps, {{1}} is {} and {{2}} {}",
                                 in[1].str(), in[2].str()));
}

/// The settings that all attention layers have in common.
template <class Spec>
LayerBuilder<Spec> attention(const char* name, int min_inputs = 2) {
  auto builder = layer<Spec>(name);
  builder.inputs(min_inputs, 3).masks(MaskRule::kPasses).uses_masks().random([](const Spec& spec) {
    return spec.dropout > 0;
  });
  return builder;
}

template <class Spec>
auto dropout_key() {
  return rate_key("dropout", &Spec::dropout).doc("rate at which the weights of values are dropped");
}
template <class Spec>
auto causal_mask_key() {
  return key("use_causal_mask", &Spec::use_causal_mask).doc("whether a step sees only itself and earlier steps");
}

std::vector<WeightDef> additive_weights(const AdditiveAttentionSpec& spec, std::span<const Shape> in) {
  if (!spec.use_scale) return {};
  return {{.name = "scale", .shape = {in[0].back()}, .initializer = Initializer(GlorotUniform{})}};
}

const Registered kAdditiveAttention =
    attention<AdditiveAttentionSpec>("AdditiveAttention")
        .doc(
            "[steps, features] two or three times (query, value, key) -> [query steps, value features]; a score is the "
            "sum of tanh(query + key) over the features")
        .key(key("use_scale", &AdditiveAttentionSpec::use_scale)
                 .doc("whether to learn a scale for each feature of the scores"))
        .key(dropout_key<AdditiveAttentionSpec>())
        .key(causal_mask_key<AdditiveAttentionSpec>())
        .output([](const AdditiveAttentionSpec&, std::span<const Shape> in) { return attention_shape(in); })
        .weights(additive_weights)
        .backward_reads(BackwardReads{.input = true, .output = true, .masks = true})
        .example("use_causal_mask: true", {{42, 4}, {42, 4}});

std::vector<WeightDef> attention_weights(const AttentionSpec& spec, std::span<const Shape>) {
  std::vector<WeightDef> all;
  if (spec.use_scale) all.push_back({.name = "scale", .shape = Shape{}, .initializer = Initializer(Ones{})});
  if (spec.score_mode == ScoreMode::kConcat)
    all.push_back({.name = "concat_score_weight", .shape = Shape{}, .initializer = Initializer(Ones{})});
  return all;
}

const Registered kAttention =
    attention<AttentionSpec>("Attention")
        .doc("[steps, features] two or three times (query, value, key) -> [query steps, value features]")
        .key(key("use_scale", &AttentionSpec::use_scale).doc("whether to learn a scale of the scores"))
        .key(key("score_mode", &AttentionSpec::score_mode)
                 .doc("dot: products of query and key; concat: sums of tanh of their sums"))
        .key(dropout_key<AttentionSpec>())
        .key(causal_mask_key<AttentionSpec>())
        .output([](const AttentionSpec&, std::span<const Shape> in) { return attention_shape(in); })
        .weights(attention_weights)
        .backward_reads(BackwardReads{.input = true, .output = true, .masks = true})
        .example("use_scale: true, dropout: 0.3", {{42, 4}, {42, 4}})
        .example("use_scale: true, score_mode: concat", {{42, 4}, {42, 4}});

constexpr const char* kRoles[] = {"query", "key", "value"};

Shape output(const MultiHeadAttentionSpec& spec, std::span<const Shape> in) {
  require_steps(in);
  if (std::max(spec.key_dim, spec.value_width()) > kMaxExtent / spec.num_heads)
    throw LayerError(fmt::format("{} heads of {} numbers are more than {} together", spec.num_heads,
                                 std::max(spec.key_dim, spec.value_width()), kMaxExtent));
  return {in[0][0], attention_output(spec, in[0])};
}

std::vector<WeightDef> weights(const MultiHeadAttentionSpec& spec, std::span<const Shape> in) {
  std::vector<WeightDef> all;
  const auto add = [&](const std::string& name, Shape kernel, Shape bias) {
    all.push_back({.name = name + "/kernel",
                   .shape = std::move(kernel),
                   .initializer = spec.kernel_initializer,
                   .regularizer = spec.kernel_regularizer});
    if (spec.use_bias)
      all.push_back({.name = name + "/bias",
                     .shape = std::move(bias),
                     .initializer = spec.bias_initializer,
                     .regularizer = spec.bias_regularizer});
  };
  const auto sources = attention_sources(in.size());
  for (std::size_t role = 0; role < sources.size(); ++role) {
    const std::int64_t width = role == 2 ? spec.value_width() : spec.key_dim;
    add(kRoles[role], {in[sources[role]].back(), spec.num_heads, width}, {spec.num_heads, width});
  }
  const std::int64_t out = attention_output(spec, in[0]);
  add("attention_output", {spec.num_heads, spec.value_width(), out}, {out});
  return all;
}

std::string output_shape_error(const std::vector<std::int64_t>& shape) {
  if (shape.size() > 1)
    return "must be one extent, the features of the output; put a Reshape after the layer for more axes";
  return shape.empty() || shape[0] >= 1 ? "" : "must be at least 1";
}

std::string attention_axes_error(const std::vector<std::int64_t>& axes) {
  if (axes.empty() || (axes.size() == 1 && (axes[0] == 1 || axes[0] == -2))) return "";
  return "must be 1, the steps, or left out: inputs are [steps, features]";
}

const Registered kMultiHeadAttention =
    attention<MultiHeadAttentionSpec>("MultiHeadAttention", 1)
        .doc(
            "[steps, features] up to three times (query, value, key) -> [query steps, query features or "
            "`output_shape`]; a single input is all three")
        .key(extent_key("num_heads", &MultiHeadAttentionSpec::num_heads)
                 .required()
                 .doc("number of heads, each with projections of its own"))
        .key(extent_key("key_dim", &MultiHeadAttentionSpec::key_dim)
                 .required()
                 .doc("size of the query and key of a head"))
        .key(key("value_dim", &MultiHeadAttentionSpec::value_dim)
                 .at_least(1)
                 .doc("size of the value of a head; none: key_dim"))
        .key(dropout_key<MultiHeadAttentionSpec>())
        .key(key("use_bias", &MultiHeadAttentionSpec::use_bias).doc("whether to add a bias"))
        .key(key("output_shape", &MultiHeadAttentionSpec::output_shape)
                 .check(output_shape_error)
                 .doc("features of the output; none: those of the query"))
        .key(key("attention_axes", &MultiHeadAttentionSpec::attention_axes)
                 .check(attention_axes_error)
                 .doc("only 1, the steps; default: 1"))
        .key(key("kernel_initializer", &MultiHeadAttentionSpec::kernel_initializer).doc("initializer of the kernel"))
        .key(key("bias_initializer", &MultiHeadAttentionSpec::bias_initializer).doc("initializer of the bias"))
        .key(key("kernel_regularizer", &MultiHeadAttentionSpec::kernel_regularizer)
                 .doc("penalty on the kernel, added to the loss"))
        .key(key("bias_regularizer", &MultiHeadAttentionSpec::bias_regularizer)
                 .doc("penalty on the bias, added to the loss"))
        .key(causal_mask_key<MultiHeadAttentionSpec>())
        .output(output)
        .weights(weights)
        .backward_reads(BackwardReads{.input_to_train = true, .masks = true})
        .example("num_heads: 2, key_dim: 3", {{42, 4}})
        .example("num_heads: 2, key_dim: 3, value_dim: 5, dropout: 0.3", {{42, 4}, {42, 4}})
        .example("num_heads: 3, key_dim: 8, use_causal_mask: true", {{42, 4}});

}  // namespace

Shape attention_shape(std::span<const Shape> in) {
  require_steps(in);
  const std::size_t key = in.size() - 1;
  if (in[key][1] != in[0][1])
    throw LayerError(fmt::format("query and key must have the same number of features, {{0}} is {} and {{{}}} {}",
                                 in[0].str(), key, in[key].str()));
  return {in[0][0], in[1][1]};
}

std::array<std::size_t, 3> attention_sources(std::size_t inputs) {
  return {0, inputs - 1, inputs > 1 ? std::size_t{1} : std::size_t{0}};
}

std::int64_t attention_output(const MultiHeadAttentionSpec& spec, const Shape& query) {
  return spec.output_shape.empty() ? query.back() : spec.output_shape.front();
}

}  // namespace dptrain::nn
