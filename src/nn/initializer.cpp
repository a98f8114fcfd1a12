#include "nn/initializer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "config/type_builder.h"
#include "core/format.h"

namespace dptrain::config {

template <>
struct EnumNames<nn::FanMode> {
  using F = nn::FanMode;
  static constexpr std::array names{std::pair{F::kFanIn, "fan_in"}, std::pair{F::kFanOut, "fan_out"},
                                    std::pair{F::kFanAvg, "fan_avg"}};
};
template <>
struct EnumNames<nn::Distribution> {
  using D = nn::Distribution;
  static constexpr std::array names{std::pair{D::kTruncatedNormal, "truncated_normal"},
                                    std::pair{D::kUntruncatedNormal, "untruncated_normal"},
                                    std::pair{D::kUniform, "uniform"}, std::pair{D::kTruncatedNormal, "normal"}};
};

}  // namespace dptrain::config

namespace dptrain::nn {
namespace {

struct InitializerType final : config::TypeDef {
  /// Fills `values`, the elements of a weight of this shape. The result depends only on the arguments.
  std::function<void(const void* spec, const Shape& shape, RandomStream& stream, std::span<float> values)> fill;
};

template <class Spec>
class InitializerBuilder : public config::TypeBuilder<InitializerBuilder<Spec>, Spec, InitializerType> {
  using Base = config::TypeBuilder<InitializerBuilder<Spec>, Spec, InitializerType>;

 public:
  using Base::Base;

  InitializerBuilder&& fill(void (*f)(const Spec&, const Shape&, RandomStream&, std::span<float>)) {
    return this->type_->fill = this->untyped(f), this->self();
  }
};

using config::key;

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

double untruncated_normal(RandomStream& stream) { return stream.normal(); }
double truncated_normal(RandomStream& stream) {
  for (;;)
    if (const double z = stream.normal(); std::abs(z) <= 2) return z;
}

template <class Draw>
void draw_all(std::span<float> values, Draw draw) {
  std::generate(values.begin(), values.end(), [&] { return static_cast<float>(draw()); });
}

void draw_uniform(std::span<float> values, double low, double high, RandomStream& stream) {
  draw_all(values, [&] { return low + (high - low) * static_cast<double>(stream.uniform()); });
}

void fill_scaled(const VarianceScaling& spec, const Shape& shape, RandomStream& stream, std::span<float> values) {
  const Fans fan = fans(shape);
  const double n = spec.mode == FanMode::kFanIn    ? fan.in
                   : spec.mode == FanMode::kFanOut ? fan.out
                                                   : (fan.in + fan.out) / 2;
  const double variance = spec.scale / std::max(1.0, n);
  if (spec.distribution == Distribution::kUniform) {
    const double limit = std::sqrt(3 * variance);
    draw_uniform(values, -limit, limit, stream);
  } else if (spec.distribution == Distribution::kTruncatedNormal) {
    // The deviation of N(0, 1) truncated at 2. Keras divides by it, so that the numbers have this variance.
    const double stddev = std::sqrt(variance) / 0.87962566103423978;
    draw_all(values, [&] { return stddev * truncated_normal(stream); });
  } else {
    draw_all(values, [&] { return std::sqrt(variance) * stream.normal(); });
  }
}

/// A column of a tall matrix.
using Column = std::vector<double>;

double dot(const Column& a, const Column& b, std::size_t from) {
  return std::inner_product(a.begin() + static_cast<std::ptrdiff_t>(from), a.end(),
                            b.begin() + static_cast<std::ptrdiff_t>(from), 0.0);
}

/// x -= 2 v (v . x), the reflection that does not change the first `from` components. v has length 1.
void reflect(const Column& v, Column& x, std::size_t from) {
  const double twice = 2 * dot(v, x, from);
  for (std::size_t i = from; i < x.size(); ++i) x[i] -= twice * v[i];
}

/// Q of the QR factors of a tall matrix by Householder reflections (Golub, Van Loan: "Matrix Computations", 5.2). Each
/// column is multiplied by the sign of R's diagonal, which makes Q uniform over the orthogonal matrices.
std::vector<Column> orthonormal_columns(std::vector<Column> a) {
  const std::size_t columns = a.size(), rows = a.front().size();
  std::vector<Column> mirrors;
  std::vector<double> signs;
  for (std::size_t k = 0; k < columns; ++k) {
    Column v(rows, 0.0);
    std::copy(a[k].begin() + static_cast<std::ptrdiff_t>(k), a[k].end(), v.begin() + static_cast<std::ptrdiff_t>(k));
    const double length = std::sqrt(dot(v, v, k));
    const double diagonal = v[k] > 0 ? -length : length;  // avoids cancellation
    v[k] -= diagonal;
    const double norm = std::sqrt(dot(v, v, k));
    if (norm > 0)
      for (std::size_t i = k; i < rows; ++i) v[i] /= norm;
    for (std::size_t j = k; j < columns; ++j) reflect(v, a[j], k);
    mirrors.push_back(std::move(v));
    signs.push_back(diagonal < 0 ? -1 : 1);
  }
  for (std::size_t k = 0; k < columns; ++k) {
    Column& q = a[k];
    std::fill(q.begin(), q.end(), 0.0);
    q[k] = signs[k];
    for (std::size_t j = columns; j-- > 0;) reflect(mirrors[j], q, j);
  }
  return a;
}

/// Orthogonal initialization as in Keras (Saxe, McClelland, Ganguli: "Exact solutions to the nonlinear dynamics of
/// learning in deep linear neural networks", 2013). The values are a matrix [product of all axes but the last, last].
/// Its rows or its columns, whichever are fewer, become orthogonal and of length `gain`.
void fill_orthogonal(std::span<float> values, const Shape& shape, double gain, RandomStream& stream) {
  const auto last = static_cast<std::size_t>(shape.rank() == 0 ? 1 : shape.back());
  const std::size_t first = values.size() / last;
  std::vector<Column> columns(std::min(first, last), Column(std::max(first, last)));
  for (Column& column : columns)
    for (double& x : column) x = stream.normal();
  columns = orthonormal_columns(std::move(columns));
  for (std::size_t r = 0; r < first; ++r)
    for (std::size_t c = 0; c < last; ++c)
      values[r * last + c] = static_cast<float>(gain * (first >= last ? columns[c][r] : columns[r][c]));
}

/// All elements equal: 0, 1 or the value of a Constant.
template <class Spec>
InitializerBuilder<Spec> constant(const char* name) {
  InitializerBuilder<Spec> builder(name);
  builder.fill([](const Spec& spec, const Shape&, RandomStream&, std::span<float> values) {
    float value = std::is_same_v<Spec, Ones> ? 1.0F : 0.0F;
    if constexpr (std::is_same_v<Spec, Constant>) value = static_cast<float>(spec.value);
    static_cast<void>(spec);
    std::fill(values.begin(), values.end(), value);
  });
  return builder;
}

/// A case of VarianceScaling.
template <class Spec, int scale, FanMode mode, Distribution distribution>
InitializerBuilder<Spec> scaled(const char* name, const char* alias) {
  InitializerBuilder<Spec> builder(name);
  builder.alias(alias)
      .doc(fmt::format("`VarianceScaling: {{scale: {}, mode: {}, distribution: {}}}`", scale,
                       config::Value<FanMode>::write(mode).str(),
                       config::Value<Distribution>::write(distribution).str()))
      .fill([](const Spec&, const Shape& shape, RandomStream& stream, std::span<float> values) {
        fill_scaled({scale, mode, distribution}, shape, stream, values);
      });
  return builder;
}

/// Numbers of `mean` and `stddev`; draw() returns one of mean 0 and deviation 1.
template <class Spec, double (*draw)(RandomStream&)>
InitializerBuilder<Spec> normal(const char* name) {
  InitializerBuilder<Spec> builder(name);
  builder.positional(key("mean", &Spec::mean).doc("mean of the distribution"))
      .key(key("stddev", &Spec::stddev).at_least(0).doc("standard deviation of the distribution"))
      .fill([](const Spec& spec, const Shape&, RandomStream& stream, std::span<float> values) {
        draw_all(values, [&] { return spec.mean + spec.stddev * draw(stream); });
      });
  return builder;
}

config::Family make_initializers() {
  config::Family family("initializer");
  const auto add = [&](auto&& builder) { family.add(builder.build()); };
  add(constant<Zeros>("Zeros").aliases({"zeros", "zero"}).doc("0 for every element"));
  add(constant<Ones>("Ones").aliases({"ones", "one"}).doc("1 for every element"));
  add(constant<Constant>("Constant")
          .aliases({"constant"})
          .doc("`value` for every element")
          .positional(key("value", &Constant::value).doc("value of every element")));
  add(normal<RandomNormal, untruncated_normal>("RandomNormal")
          .aliases({"random_normal", "normal"})
          .doc("normal distribution"));
  add(InitializerBuilder<RandomUniform>("RandomUniform")
          .aliases({"random_uniform", "uniform"})
          .doc("uniform distribution")
          .positional(key("minval", &RandomUniform::minval).doc("lower bound of the numbers"))
          .key(key("maxval", &RandomUniform::maxval).doc("upper bound of the numbers"))
          .rule([](const RandomUniform& u) {
            return u.minval <= u.maxval ? std::string() : std::string("minval must be at most maxval");
          })
          .fill([](const RandomUniform& spec, const Shape&, RandomStream& stream, std::span<float> values) {
            draw_uniform(values, spec.minval, spec.maxval, stream);
          }));
  add(normal<TruncatedNormal, truncated_normal>("TruncatedNormal")
          .alias("truncated_normal")
          .doc("normal distribution; numbers beyond two standard deviations are drawn again"));
  add(InitializerBuilder<VarianceScaling>("VarianceScaling")
          .aliases({"variance_scaling"})
          .doc("random numbers whose variance is `scale` divided by the number of inputs or outputs, by `mode`")
          .positional(key("scale", &VarianceScaling::scale).above(0).doc("factor of the variance"))
          .key(
              key("mode", &VarianceScaling::mode).doc("what the variance is divided by: fan_in, fan_out or their mean"))
          .key(key("distribution", &VarianceScaling::distribution).doc("distribution that the numbers are drawn from"))
          .fill(fill_scaled));
  using enum FanMode;
  constexpr Distribution kNormal = Distribution::kTruncatedNormal, kEven = Distribution::kUniform;
  add(scaled<GlorotUniform, 1, kFanAvg, kEven>("GlorotUniform", "glorot_uniform"));
  add(scaled<GlorotNormal, 1, kFanAvg, kNormal>("GlorotNormal", "glorot_normal"));
  add(scaled<HeUniform, 2, kFanIn, kEven>("HeUniform", "he_uniform"));
  add(scaled<HeNormal, 2, kFanIn, kNormal>("HeNormal", "he_normal"));
  add(scaled<LecunUniform, 1, kFanIn, kEven>("LecunUniform", "lecun_uniform"));
  add(scaled<LecunNormal, 1, kFanIn, kNormal>("LecunNormal", "lecun_normal"));
  add(InitializerBuilder<Orthogonal>("Orthogonal")
          .aliases({"orthogonal", "OrthogonalInitializer"})
          .doc("random matrix times `gain`; its rows or its columns, whichever are fewer, are orthonormal")
          .positional(key("gain", &Orthogonal::gain).doc("factor of the orthogonal matrix"))
          .fill([](const Orthogonal& spec, const Shape& shape, RandomStream& stream, std::span<float> values) {
            fill_orthogonal(values, shape, spec.gain, stream);
          }));
  return family;
}

template <class Spec>
struct RegularizerBuilder : config::TypeBuilder<RegularizerBuilder<Spec>, Spec, config::TypeDef> {
  using config::TypeBuilder<RegularizerBuilder<Spec>, Spec, config::TypeDef>::TypeBuilder;
};

config::Family make_regularizers() {
  const auto l1 = key("l1", &Penalty::l1).at_least(0).doc("factor of the sum of absolute values");
  const auto l2 = key("l2", &Penalty::l2).at_least(0).doc("factor of the sum of squares");
  config::Family family("regularizer");
  family.add(
      RegularizerBuilder<L1Spec>("L1").alias("l1").doc("penalty `l1` * sum of absolute values").positional(l1).build());
  family.add(RegularizerBuilder<L2Spec>("L2")
                 .alias("l2")
                 .doc("penalty `l2` * sum of squares, without a factor 1/2, as in Keras")
                 .positional(l2)
                 .build());
  family.add(RegularizerBuilder<L1L2Spec>("L1L2")
                 .aliases({"l1_l2", "l1l2"})
                 .doc("sum of both penalties")
                 .positional(l1)
                 .key(l2)
                 .build());
  return family;
}

}  // namespace

config::Family& initializer_family() {
  static config::Family family = make_initializers();
  return family;
}

void fill(const Initializer& initializer, const Shape& shape, RandomStream& stream, std::span<float> values) {
  if (!initializer) return std::fill(values.begin(), values.end(), 0.0F);
  static_cast<const InitializerType&>(initializer.def()).fill(initializer.spec(), shape, stream, values);
}

config::Family& regularizer_family() {
  static config::Family family = make_regularizers();
  return family;
}

Penalty penalty(const Regularizer& regularizer) {
  if (const auto* l1 = regularizer.get_if<L1Spec>()) return *l1;
  if (const auto* l2 = regularizer.get_if<L2Spec>()) return *l2;
  if (const auto* both = regularizer.get_if<L1L2Spec>()) return *both;
  return {};
}

}  // namespace dptrain::nn
