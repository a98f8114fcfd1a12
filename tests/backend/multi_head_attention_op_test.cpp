#include "nn/attention.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/dropout_reference.h"
#include "backend/harness.h"

namespace dptrain::test {
namespace {

using nn::MultiHeadAttentionSpec;

/// x [row, step] times one head of kernel [features, heads, dim], plus bias.
double projected(const Tensor& x, std::int64_t row, std::int64_t step, const Tensor& kernel, const Tensor* bias,
                 std::int64_t head, std::int64_t d) {
  double sum = bias == nullptr ? 0 : (*bias)(head, d);
  for (std::int64_t f = 0; f < x.dim(2); ++f) sum += x(row, step, f) * kernel(f, head, d);
  return sum;
}

Tensor attention(const MultiHeadAttentionSpec& spec, bool training, const std::vector<Tensor>& inputs,
                 const std::vector<Tensor>& weights) {
  const auto sources = nn::attention_sources(inputs.size());
  const Tensor &query = inputs[0], &key = inputs[sources[1]], &value = inputs[sources[2]];
  const std::int64_t rows = query.dim(0), queries = query.dim(1), keys = key.dim(1), width = spec.value_width();
  const std::size_t step = spec.use_bias ? 2 : 1;
  const auto bias = [&](std::size_t role) { return spec.use_bias ? &weights[2 * role + 1] : nullptr; };
  const Tensor& last = weights[3 * step];
  const std::int64_t out = last.dim(2);
  Tensor y({rows, queries, out});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < queries; ++i) {
      for (std::int64_t o = 0; o < out && spec.use_bias; ++o) y(r, i, o) = (*bias(3))(o);
      for (std::int64_t h = 0; h < spec.num_heads; ++h) {
        std::vector<double> shares;
        double total = 0;
        for (std::int64_t j = 0; j < (spec.use_causal_mask ? std::min(i + 1, keys) : keys); ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < spec.key_dim; ++d)
            score +=
                projected(query, r, i, weights[0], bias(0), h, d) * projected(key, r, j, weights[step], bias(1), h, d);
          shares.push_back(std::exp(score / std::sqrt(static_cast<double>(spec.key_dim))));
          total += shares.back();
        }
        for (std::int64_t d = 0; d < width; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < static_cast<std::int64_t>(shares.size()); ++j) {
            const std::int64_t element = (h * queries + i) * ((keys + 3) / 4 * 4) + j;
            const double factor =
                training && spec.dropout > 0 ? dropout_factor(static_cast<double>(spec.dropout), r, element) : 1.0;
            sum += shares[static_cast<std::size_t>(j)] / total * factor *
                   projected(value, r, j, weights[2 * step], bias(2), h, d);
          }
          for (std::int64_t o = 0; o < out; ++o) y(r, i, o) += sum * last(h, d, o);
        }
      }
    }
  return y;
}

void check_attention(const MultiHeadAttentionSpec& spec, std::vector<Shape> inputs, bool cudnn_attention = false) {
  Case c;
  c.layer = layer(spec);
  c.options.cudnn_attention = cudnn_attention;
  c.inputs = std::move(inputs);
  c.rows = 2;
  c.tolerance = 1e-5;
  c.gradient_tolerance = 2e-5;
  c.same_bits_on_all_threads = false;    // oneDNN's products
  c.roundings = 4;                       // projections, scores, heads, output
  if (spec.use_bias) c.cancelled = {3};  // the key bias shifts all scores of a query equally
  const auto reference = [&](bool training) {
    return [&spec, training](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
      return attention(spec, training, in, weights);
    };
  };
  c.inference = reference(false);
  agrees(c, reference(true));
}

MultiHeadAttentionSpec heads_of(std::int64_t heads, std::int64_t key_dim) {
  MultiHeadAttentionSpec spec;
  spec.num_heads = heads;
  spec.key_dim = key_dim;
  return spec;
}

TEST(MultiHeadAttentionOp, OfOneInput) { check_attention(heads_of(2, 3), {{4, 5}}); }
TEST(MultiHeadAttentionOp, OneHeadOneStep) { check_attention(heads_of(1, 1), {{1, 1}}); }
TEST(MultiHeadAttentionOp, OfQueryAndValue) { check_attention(heads_of(2, 3), {{3, 4}, {5, 2}}); }
TEST(MultiHeadAttentionOp, OfQueryValueAndKey) {
  MultiHeadAttentionSpec spec = heads_of(2, 3);
  spec.value_dim = 4;
  check_attention(spec, {{3, 4}, {5, 2}, {5, 3}});
}
TEST(MultiHeadAttentionOp, WithoutBiasToAnotherWidth) {
  MultiHeadAttentionSpec spec = heads_of(3, 2);
  spec.use_bias = false;
  spec.output_shape = {7};
  spec.value_dim = 5;
  check_attention(spec, {{4, 3}});
  check_attention(spec, {{2, 3}, {4, 6}});
}
TEST(MultiHeadAttentionOp, Causal) {
  MultiHeadAttentionSpec spec = heads_of(2, 4);
  spec.use_causal_mask = true;
  check_attention(spec, {{5, 4}});
  check_attention(spec, {{3, 4}, {5, 2}});
  check_attention(spec, {{5, 4}, {3, 2}});
}
TEST(MultiHeadAttentionOp, MoreStepsThanABlock) { check_attention(heads_of(1, 2), {{50, 2}, {70, 2}}); }
TEST(MultiHeadAttentionOp, DropsWeights) {
  MultiHeadAttentionSpec spec = heads_of(2, 3);
  spec.dropout = 0.4F;
  check_attention(spec, {{5, 4}});
}

TEST(MultiHeadAttentionOp, InAnEngine) {
  MultiHeadAttentionSpec spec = heads_of(2, 8);
  for (const bool causal : {false, true}) {
    spec.use_causal_mask = causal;
    check_attention(spec, {{5, 4}}, true);
    check_attention(spec, {{3, 4}, {5, 2}}, true);
  }
  spec.value_dim = 16;
  check_attention(spec, {{5, 4}, {3, 2}, {3, 3}}, true);
}

/// Shapes of several tiles. Repeats its bits.
TEST(MultiHeadAttentionOp, AnEngineEqualsTheKernels) {
  Case c;
  MultiHeadAttentionSpec spec = heads_of(2, 32);
  c.rows = 1;
  for (const DType type : {DType::kBf16, DType::kF16})
    for (const bool causal : {false, true}) {
      spec.use_causal_mask = causal;
      c.layer = layer(spec);
      c.inputs = {{133, 8}, {259, 6}};
      const Devices kernels = gpus({.compute = type}), engines = gpus({.compute = type, .cudnn_attention = true});
      for (std::size_t i = 0; i < engines.size(); ++i) {
        SCOPED_TRACE(engines[i]->description() + ", " + std::string(name_of(type)) + (causal ? ", causal" : ""));
        const auto found = train(*engines[i], c), expected = train(*kernels[i], c);
        for (std::size_t k = 0; k < found.size(); ++k) {
          if (k == 6) continue;  // the gradient of the key's bias is zero but for rounding
          expect_near_in_norm(found[k], {expected[k].begin(), expected[k].end()}, 4 * norm_tolerance(type),
                              "result " + std::to_string(k));
        }
        EXPECT_EQ(found, train(*engines[i], c)) << "not the same bits twice";
      }
    }
}

TEST(MultiHeadAttentionOp, NamesItsEngineOrTheReasonForNone) {
  MultiHeadAttentionSpec spec = heads_of(2, 8);
  Case c;
  c.inputs = {{5, 4}};
  const auto expect = [&](DType type, const char* words) {
    c.layer = layer(spec);
    for (const auto& device : gpus({.compute = type, .cudnn_attention = true}))
      EXPECT_THAT(implementation(*device, c), testing::HasSubstr(words));
    for (const auto& device : gpus({.compute = type}))
      EXPECT_THAT(implementation(*device, c), testing::Not(testing::HasSubstr("attention")));
  };
  expect(DType::kBf16, "; attention ");
  expect(DType::kF32, "; attention own kernels: float32");
  spec.dropout = 0.1F;
  expect(DType::kF16, "; attention own kernels: dropout");
}

/// A tensor that is passed several times receives its whole gradient once.
TEST(MultiHeadAttentionOp, OneTensorAsThreeInputs) {
  const MultiHeadAttentionSpec spec = heads_of(2, 3);
  const nn::LayerType& type = nn::type_of(layer(spec));
  const std::vector<nn::TensorDef> one{{{4, 5}}}, three{{{4, 5}}, {{4, 5}}, {{4, 5}}};
  EXPECT_EQ(type.outputs(&spec, one).front().shape, type.outputs(&spec, three).front().shape);
}

}  // namespace
}  // namespace dptrain::test
