#include "nn/initializer.h"

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

using config::key;
using config::Schema;
using config::type_def;

template <class Spec>
void add(config::Family& family, const std::string& name, std::vector<std::string> aliases) {
  family.add(type_def<Spec>(Schema::of<Spec>(name), std::move(aliases)));
}

config::Family make_initializers() {
  config::Family family("initializer");
  add<Zeros>(family, "Zeros", {"zeros", "zero"});
  add<Ones>(family, "Ones", {"ones", "one"});
  family.add(type_def<Constant>(
      Schema::of<Constant>("Constant").positional(key("value", &Constant::value).doc("value of every element")),
      {"constant"}));
  family.add(type_def<RandomNormal>(
      Schema::of<RandomNormal>("RandomNormal")
          .positional(key("mean", &RandomNormal::mean).doc("mean of the distribution"))
          .key(key("stddev", &RandomNormal::stddev).at_least(0).doc("standard deviation of the distribution")),
      {"random_normal", "normal"}));
  family.add(type_def<RandomUniform>(
      Schema::of<RandomUniform>("RandomUniform")
          .positional(key("minval", &RandomUniform::minval).doc("lower bound of the numbers"))
          .key(key("maxval", &RandomUniform::maxval).doc("upper bound of the numbers"))
          .rule<RandomUniform>([](const RandomUniform& u) {
            return u.minval <= u.maxval ? std::string() : std::string("minval must be at most maxval");
          }),
      {"random_uniform", "uniform"}));
  family.add(type_def<TruncatedNormal>(
      Schema::of<TruncatedNormal>("TruncatedNormal")
          .positional(key("mean", &TruncatedNormal::mean).doc("mean of the distribution"))
          .key(key("stddev", &TruncatedNormal::stddev).at_least(0).doc("standard deviation of the distribution")),
      {"truncated_normal"}));
  family.add(type_def<VarianceScaling>(
      Schema::of<VarianceScaling>("VarianceScaling")
          .positional(key("scale", &VarianceScaling::scale).above(0).doc("factor of the variance"))
          .key(
              key("mode", &VarianceScaling::mode).doc("what the variance is divided by: fan_in, fan_out or their mean"))
          .key(key("distribution", &VarianceScaling::distribution).doc("distribution that the numbers are drawn from")),
      {"variance_scaling"}));
  add<GlorotUniform>(family, "GlorotUniform", {"glorot_uniform"});
  add<GlorotNormal>(family, "GlorotNormal", {"glorot_normal"});
  add<HeUniform>(family, "HeUniform", {"he_uniform"});
  add<HeNormal>(family, "HeNormal", {"he_normal"});
  add<LecunUniform>(family, "LecunUniform", {"lecun_uniform"});
  add<LecunNormal>(family, "LecunNormal", {"lecun_normal"});
  family.add(
      type_def<Orthogonal>(Schema::of<Orthogonal>("Orthogonal")
                               .positional(key("gain", &Orthogonal::gain).doc("factor of the orthogonal matrix")),
                           {"orthogonal", "OrthogonalInitializer"}));
  return family;
}

}  // namespace

config::Family& initializer_family() {
  static config::Family family = make_initializers();
  return family;
}

}  // namespace dptrain::nn
