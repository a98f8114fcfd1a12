#include "nn/dropout.h"

#include <cmath>

#include "config/json_fragment.h"
#include "config/reader.h"
#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

std::string text_of(const NoiseShape& noise) {
  std::string text;
  for (const auto& extent : noise.extents)
    text += (text.empty() ? "" : ", ") + (extent ? std::to_string(*extent) : "null");
  return "[" + text + "]";
}

/// The settings that all layers with random numbers have in common.
template <class Spec>
LayerBuilder<Spec> noise(const char* name) {
  auto builder = layer<Spec>(name);
  builder.inputs(1).masks(MaskRule::kPasses).random().same_shape();
  return builder;
}

const Registered kDropout =
    noise<DropoutSpec>("Dropout")
        .doc("any -> same; in training sets random values to zero and divides the others by 1 - rate")
        .positional(
            rate_key("rate", &DropoutSpec::rate).required().doc("share of the values that are set to zero in training"))
        .key(key("noise_shape", &DropoutSpec::noise_shape)
                 .at_least(1)
                 .doc("draws along each axis, the batch first: null for its extent, or 1 for all together; [null, 1, "
                      "64] draws once for all steps of [steps, 64]"))
        .output([](const DropoutSpec& spec, std::span<const Shape> in) {
          sample_noise(spec, in[0]);  // throws
          return in[0];
        })
        .example("rate: 0.3", {{7, 6, 4}})
        .example("rate: 0.3, noise_shape: [null, 7, 1, 4]", {{7, 6, 4}})
        .example("rate: 0.3", {{7, 6, 5}});

const Registered kGaussianDropout =
    noise<GaussianDropoutSpec>("GaussianDropout")
        .doc("any -> same; in training multiplies each value by a normal random number of mean 1")
        .positional(rate_key("rate", &GaussianDropoutSpec::rate)
                        .required()
                        .doc("strength of the noise: a deviation of sqrt(rate / (1 - rate))"))
        .example("rate: 0.3", {{7, 6, 4}})
        .example("rate: 0.3", {{7, 6, 5}});

const Registered kGaussianNoise =
    noise<GaussianNoiseSpec>("GaussianNoise")
        .doc("any -> same; in training adds a normal random number of mean 0 to each value")
        .positional(key("stddev", &GaussianNoiseSpec::stddev)
                        .required()
                        .between(0, 1)  // Keras 3's range
                        .doc("standard deviation of the noise"))
        .example("stddev: 0.1", {{7, 6, 4}})
        .example("stddev: 0.1", {{7, 6, 5}});

template <int Rank>
LayerBuilder<SpatialDropoutSpec<Rank>> spatial_dropout(const char* name) {
  using Spec = SpatialDropoutSpec<Rank>;
  auto builder = noise<Spec>(name);
  builder.doc(shape_text(Rank) + " -> same; a Dropout of whole channels")
      .positional(
          rate_key("rate", &Spec::rate).required().doc("share of the channels that are set to zero in training"))
      .of_rank(Rank + 1);
  if constexpr (Rank != 2) builder.computed_as(+[](const Spec& spec) { return SpatialDropout2DSpec{spec.rate}; });
  return builder;
}

const Registered kSpatialDropout1D = spatial_dropout<1>("SpatialDropout1D").example("rate: 0.3", {{42, 4}});
const Registered kSpatialDropout2D =
    spatial_dropout<2>("SpatialDropout2D").example("rate: 0.3", {{7, 6, 4}}).example("rate: 0.3", {{7, 6, 5}});
const Registered kSpatialDropout3D = spatial_dropout<3>("SpatialDropout3D").example("rate: 0.3", {{3, 7, 2, 4}});

const Registered kStochasticDepth =
    noise<StochasticDepthSpec>("StochasticDepth")
        .doc("any -> same; in training sets whole samples to zero and divides the others by 1 - drop_path_rate")
        .positional(rate_key("drop_path_rate", &StochasticDepthSpec::drop_path_rate)
                        .required()
                        .doc("share of the samples that are set to zero in training"))
        .masks(MaskRule::kDrops)
        .example("drop_path_rate: 0.3", {{7, 6, 4}});

}  // namespace

std::optional<SampleNoise> sample_noise(const DropoutSpec& spec, const Shape& in) {
  const auto& extents = spec.noise_shape.extents;
  if (extents.empty()) return std::nullopt;
  bool fits = extents.size() == in.dims().size() + 1 && extents[0].value_or(1) == 1;
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; fits && i < in.dims().size(); ++i) {
    shape.push_back(extents[i + 1].value_or(in.dims()[i]));
    fits = shape.back() == 1 || shape.back() == in.dims()[i];
  }
  if (!fits)
    throw LayerError(
        fmt::format("noise_shape {} must have null or 1 for the batch, and null, 1 or the extent for each "
                    "axis of {{0}}, which is {}",
                    text_of(spec.noise_shape), in.str()));
  SampleNoise noise{Shape(std::move(shape)), extents[0].has_value()};
  return noise.shape == in && !noise.one_row ? std::nullopt : std::optional(std::move(noise));
}

float deviation(const GaussianDropoutSpec& spec) {
  const double rate = static_cast<double>(spec.rate);
  return static_cast<float>(std::sqrt(rate / (1 - rate)));
}

}  // namespace dptrain::nn

namespace dptrain::config {

using nn::NoiseShape;

bool Value<NoiseShape>::read(const Node& raw, Reader& reader, NoiseShape& out) {
  out.extents.clear();
  const Node node = reader.substituted(raw);
  if (node.is_null()) return true;
  if (!node.is_sequence()) return reader.expected(node, "a list of integers and nulls, the batch first"), false;
  bool good = true;
  for (const Node& item : node.items())
    good = Value<std::optional<std::int64_t>>::read(item, reader, out.extents.emplace_back()) && good;
  return good;
}

Node Value<NoiseShape>::write(const NoiseShape& noise) {
  if (noise.extents.empty()) return {};
  Node list = Node::sequence();
  for (const auto& extent : noise.extents) list.items().push_back(extent ? Node::integer(*extent) : Node());
  return list;
}

Node Value<NoiseShape>::schema() {
  return detail::optional_schema(fragment::list(detail::optional_schema(Value<std::int64_t>::schema())));
}

}  // namespace dptrain::config
