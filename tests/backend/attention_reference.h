#pragma once

// Attention of one head in double by Keras's formula, for the cases of the harness.

#include <cmath>
#include <functional>
#include <vector>

#include "backend/dropout_reference.h"
#include "backend/harness.h"

namespace dptrain::test {

/// Score of the features of a query and a key.
using Score = std::function<double(const std::vector<double>& query, const std::vector<double>& key)>;

inline std::vector<double> step_of(const Tensor& x, std::int64_t row, std::int64_t step) {
  std::vector<double> features;
  for (std::int64_t f = 0; f < x.dim(2); ++f) features.push_back(x(row, step, f));
  return features;
}

/// `rate`: dropout rate, 0 in inference.
inline Tensor attention_of(const std::vector<Tensor>& inputs, double rate, bool causal, const Score& score) {
  const Tensor &query = inputs[0], &value = inputs[1], &key = inputs.back();
  const std::int64_t rows = query.dim(0), queries = query.dim(1), keys = key.dim(1);
  Tensor y({rows, queries, value.dim(2)});
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < queries; ++i) {
      std::vector<double> shares;
      double total = 0;
      for (std::int64_t j = 0; j < (causal ? std::min(i + 1, keys) : keys); ++j)
        total += shares.emplace_back(std::exp(score(step_of(query, r, i), step_of(key, r, j))));
      for (std::int64_t j = 0; j < static_cast<std::int64_t>(shares.size()); ++j) {
        const double factor = rate > 0 ? dropout_factor(rate, r, i * ((keys + 3) / 4 * 4) + j) : 1.0;
        for (std::int64_t f = 0; f < value.dim(2); ++f)
          y(r, i, f) += shares[static_cast<std::size_t>(j)] / total * factor * value(r, j, f);
      }
    }
  return y;
}

/// Builds `score` from the weights.
template <class Spec>
void check_attention_of(const Spec& spec, std::vector<Shape> inputs,
                        const std::function<Score(const std::vector<Tensor>& weights)>& score) {
  Case c;
  c.layer = layer(spec);
  c.inputs = std::move(inputs);
  c.tolerance = 1e-5;
  c.gradient_tolerance = 2e-5;
  const auto reference = [&](bool training) {
    return [&, training](const std::vector<Tensor>& in, const std::vector<Tensor>& weights) {
      return attention_of(in, training ? static_cast<double>(spec.dropout) : 0.0, spec.use_causal_mask, score(weights));
    };
  };
  c.inference = reference(false);
  agrees(c, reference(true));
}

}  // namespace dptrain::test
