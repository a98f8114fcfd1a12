// Attention as single ops: scores of queries by keys, masks, softmax, the mean of the values.

#include "nn/attention.h"

#include <cmath>
#include <utility>

#include "formats/onnx/onnx_layer.h"

namespace dptrain::formats::onnx {
namespace {

/// [queries, keys]: whether query i uses key j.
Value causal(Builder& to, std::int64_t queries, std::int64_t keys) {
  std::vector<float> sees(static_cast<std::size_t>(queries * keys));
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j <= i && j < keys; ++j) sees[static_cast<std::size_t>(i * keys + j)] = 1;
  return to.cast(to.floats({queries, keys}, std::move(sees)), Element::kBool);
}

Value both(Builder& to, const Value& a, const Value& b) {
  if (a.name.empty()) return b;
  if (b.name.empty()) return a;
  return to.binary("And", a, b, Element::kBool);
}

/// A mask [batch, steps] for axes around it.
Value spread(Builder& to, const Value& mask, const Dims& dims) {
  return mask.name.empty() ? mask : to.reshape(mask, dims);
}

/// [batch, steps, heads * width] of a projection, as [batch, heads, steps, width].
Value heads_of(Call& call, const char* name, const Value& x, std::int64_t heads, std::int64_t width) {
  Builder& to = call.to;
  const graph::Weight& kernel = call.weight(std::string(name) + "/kernel");
  Value y = to.matmul(x, call.constant(kernel, {0, 1, 2}, {x.dims[2], heads * width}));
  if (const graph::Weight* bias = call.find(std::string(name) + "/bias"))
    y = to.binary("Add", y, call.constant(*bias, {0, 1}, {heads * width}));
  return to.transpose(to.reshape(y, {kBatch, x.dims[1], heads, width}), {0, 2, 1, 3});
}

Value multi_head(const nn::MultiHeadAttentionSpec& spec, Call& call) {
  Builder& to = call.to;
  const auto sources = nn::attention_sources(call.inputs.size());
  // In the order of the weights: query, key, value.
  const Value &query = call.inputs[sources[0]], &key = call.inputs[sources[1]], &value = call.inputs[sources[2]];
  const std::int64_t queries = query.dims[1], keys = key.dims[1];
  const Value q = heads_of(call, "query", query, spec.num_heads, spec.key_dim);
  const Value k = heads_of(call, "key", key, spec.num_heads, spec.key_dim);
  const Value v = heads_of(call, "value", value, spec.num_heads, spec.value_width());
  const Value scale = to.scalar(static_cast<float>(1 / std::sqrt(static_cast<double>(spec.key_dim))));
  Value scores = to.matmul(to.binary("Mul", q, scale), to.transpose(k, {0, 1, 3, 2}));
  Value sees = spec.use_causal_mask ? causal(to, queries, keys) : Value{};
  sees = both(to, sees, spread(to, call.masks[sources[0]], {kBatch, 1, queries, 1}));
  if (sources[1] != sources[2]) sees = both(to, sees, spread(to, call.masks[sources[1]], {kBatch, 1, 1, keys}));
  sees = both(to, sees, spread(to, call.masks[sources[2]], {kBatch, 1, 1, keys}));
  // A query without any key has equal scores, so all values have equal weights.
  if (!sees.name.empty()) scores = to.where(sees, scores, to.scalar(-1e30F));
  const Value weights = to.activate(scores, nn::Activation::kSoftmax);
  const Value each = to.transpose(to.matmul(weights, v), {0, 2, 1, 3});
  const std::int64_t width = spec.num_heads * spec.value_width();
  const Value joined = to.reshape(each, {kBatch, queries, width});
  const std::int64_t out = nn::attention_output(spec, sample_of(query));
  const Value y = to.matmul(joined, call.constant(call.weight("attention_output/kernel"), {0, 1, 2}, {width, out}));
  const graph::Weight* bias = call.find("attention_output/bias");
  return bias == nullptr ? y : to.binary("Add", y, call.constant(*bias));
}

/// Softmax of the scores and the mean of the values, with the masks of Attention and AdditiveAttention.
Value attended(Call& call, Value scores, bool use_causal_mask) {
  Builder& to = call.to;
  const std::int64_t queries = scores.dims[1], keys = scores.dims[2];
  Value sees = use_causal_mask ? causal(to, queries, keys) : Value{};
  sees = both(to, sees, spread(to, call.masks[1], {kBatch, 1, keys}));
  if (!sees.name.empty()) scores = to.where(sees, scores, to.binary("Sub", scores, to.scalar(1e9F)));
  const Value weights = to.activate(scores, nn::Activation::kSoftmax);
  const Value y = to.matmul(weights, call.inputs[1]);
  if (call.masks[0].name.empty()) return y;
  return to.where(to.reshape(call.masks[0], {kBatch, queries, 1}), y, to.scalar(0));
}

/// [batch, queries, keys, features]: tanh(scale (q + k)).
Value sums(Call& call, const Value* scale) {
  Builder& to = call.to;
  const Value &query = call.inputs.front(), &key = call.inputs.back();
  const Value q = to.reshape(query, {kBatch, query.dims[1], 1, query.dims[2]});
  const Value k = to.reshape(key, {kBatch, 1, key.dims[1], key.dims[2]});
  Value sum = to.binary("Add", q, k);
  if (scale != nullptr) sum = to.binary("Mul", sum, *scale);
  return to.unary("Tanh", sum);
}

Value attention(const nn::AttentionSpec& spec, Call& call) {
  Builder& to = call.to;
  Value scale;
  if (spec.use_scale) scale = call.constant(call.weight("scale"));
  Value scores;
  if (spec.score_mode == nn::ScoreMode::kDot) {
    scores = to.matmul(call.inputs.front(), to.transpose(call.inputs.back(), {0, 2, 1}));
    if (spec.use_scale) scores = to.binary("Mul", scores, scale);
  } else {
    scores = to.reduce("ReduceSum", sums(call, spec.use_scale ? &scale : nullptr), {3}, false);
    scores = to.binary("Mul", scores, call.constant(call.weight("concat_score_weight")));
  }
  return attended(call, scores, spec.use_causal_mask);
}

Value additive(const nn::AdditiveAttentionSpec& spec, Call& call) {
  Builder& to = call.to;
  Value terms = sums(call, nullptr);
  if (spec.use_scale) terms = to.binary("Mul", terms, call.constant(call.weight("scale")));
  return attended(call, to.reduce("ReduceSum", terms, {3}, false), spec.use_causal_mask);
}

const RegisteredForm kMultiHeadAttention = form<nn::MultiHeadAttentionSpec>(multi_head).uses_masks();
const RegisteredForm kAttention = form<nn::AttentionSpec>(attention).uses_masks();
const RegisteredForm kAdditiveAttention = form<nn::AdditiveAttentionSpec>(additive).uses_masks();

}  // namespace
}  // namespace dptrain::formats::onnx
