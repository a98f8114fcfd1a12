// Keras's initializers (keras.src.initializers.random_initializers): the same distributions, from our own random
// streams.

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/random.h"
#include "graph/model.h"
#include "graph/orthogonal.h"

namespace dptrain::graph {
namespace {

using nn::Distribution;
using nn::FanMode;
using nn::VarianceScaling;

struct Fans {
  double in = 1, out = 1;
};

/// Keras's compute_fans: the last two axes are inputs and outputs, those before them the receptive field.
Fans fans(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const double in = static_cast<double>(shape[shape.rank() - 2]), out = static_cast<double>(shape.back());
  const double receptive = static_cast<double>(shape.elements()) / in / out;
  return {in * receptive, out * receptive};
}

double truncated(RandomStream& stream) {
  for (;;)
    if (const double z = stream.normal(); std::abs(z) <= 2) return z;
}

template <class Draw>
void fill(std::span<float> values, Draw draw) {
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(draw()); });
}

void uniform(std::span<float> values, double low, double high, RandomStream& stream) {
  fill(values, [&] { return low + (high - low) * static_cast<double>(stream.uniform()); });
}

/// The named ones are all cases of VarianceScaling.
std::optional<VarianceScaling> scaling(const nn::Initializer& initializer) {
  if (const auto* own = initializer.get_if<VarianceScaling>()) return *own;
  if (initializer.get_if<nn::GlorotUniform>()) return VarianceScaling{1, FanMode::kFanAvg, Distribution::kUniform};
  if (initializer.get_if<nn::GlorotNormal>())
    return VarianceScaling{1, FanMode::kFanAvg, Distribution::kTruncatedNormal};
  if (initializer.get_if<nn::HeUniform>()) return VarianceScaling{2, FanMode::kFanIn, Distribution::kUniform};
  if (initializer.get_if<nn::HeNormal>()) return VarianceScaling{2, FanMode::kFanIn, Distribution::kTruncatedNormal};
  if (initializer.get_if<nn::LecunUniform>()) return VarianceScaling{1, FanMode::kFanIn, Distribution::kUniform};
  if (initializer.get_if<nn::LecunNormal>()) return VarianceScaling{1, FanMode::kFanIn, Distribution::kTruncatedNormal};
  return std::nullopt;
}

void variance_scaling(std::span<float> values, const VarianceScaling& spec, const Shape& shape, RandomStream& stream) {
  const Fans fan = fans(shape);
  const double n = spec.mode == FanMode::kFanIn    ? fan.in
                   : spec.mode == FanMode::kFanOut ? fan.out
                                                   : (fan.in + fan.out) / 2;
  const double variance = spec.scale / std::max(1.0, n);
  if (spec.distribution == Distribution::kUniform) {
    const double limit = std::sqrt(3 * variance);
    uniform(values, -limit, limit, stream);
  } else if (spec.distribution == Distribution::kTruncatedNormal) {
    // The standard deviation of a standard normal cut at 2 (Keras divides by it, so that the result has the variance).
    const double stddev = std::sqrt(variance) / 0.87962566103423978;
    fill(values, [&] { return stddev * truncated(stream); });
  } else {
    fill(values, [&] { return std::sqrt(variance) * stream.normal(); });
  }
}

void fill_weight(const nn::Initializer& initializer, const Shape& shape, RandomStream& stream,
                 std::span<float> values) {
  if (initializer.get_if<nn::Ones>()) {
    std::fill(values.begin(), values.end(), 1.0F);
  } else if (const auto* constant = initializer.get_if<nn::Constant>()) {
    std::fill(values.begin(), values.end(), static_cast<float>(constant->value));
  } else if (const auto* normal = initializer.get_if<nn::RandomNormal>()) {
    fill(values, [&] { return normal->mean + normal->stddev * stream.normal(); });
  } else if (const auto* range = initializer.get_if<nn::RandomUniform>()) {
    uniform(values, range->minval, range->maxval, stream);
  } else if (const auto* cut = initializer.get_if<nn::TruncatedNormal>()) {
    fill(values, [&] { return cut->mean + cut->stddev * truncated(stream); });
  } else if (const auto* orthogonal = initializer.get_if<nn::Orthogonal>()) {
    fill_orthogonal(values, shape, orthogonal->gain, stream);
  } else if (const auto spec = scaling(initializer)) {
    variance_scaling(values, *spec, shape, stream);
  } else {  // Zeros, and no initializer at all
    std::fill(values.begin(), values.end(), 0.0F);
  }
}

}  // namespace

void initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index, std::span<float> values) {
  RandomStream stream(seed, static_cast<std::uint32_t>(Purpose::kInitializer) + index);
  if (weight.parts.empty()) return fill_weight(weight.initializer, weight.shape, stream, values);
  for (const nn::WeightPart& part : weight.parts) {
    fill_weight(part.initializer, {part.elements}, stream, values.first(static_cast<std::size_t>(part.elements)));
    values = values.subspan(static_cast<std::size_t>(part.elements));
  }
}

std::vector<float> initialize(const nn::WeightDef& weight, std::uint64_t seed, std::uint32_t index) {
  std::vector<float> values(static_cast<std::size_t>(weight.shape.elements()));
  initialize(weight, seed, index, values);
  return values;
}

}  // namespace dptrain::graph
