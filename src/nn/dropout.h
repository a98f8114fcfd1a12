#pragma once

// Layers that draw random numbers in training.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.h"

namespace dptrain::nn {

/// How many numbers Dropout draws along each axis, the batch first: as many as the input has (null in a config), or one
/// for all. Empty: as many as there are elements.
struct NoiseShape {
  std::vector<std::optional<std::int64_t>> extents;
};

/// In training keeps each element with probability 1 - rate and scales it by 1 / (1 - rate); the mask is a function of
/// (seed, layer, step, sample), not of the replica (Keras Dropout). With a noise_shape neighbours share one draw; with
/// a batch of 1 there, all samples do.
struct DropoutSpec {
  float rate = 0;
  NoiseShape noise_shape{};
};

/// The noise_shape of one sample [1 or extent, ...], and whether all samples share it; nothing where every element
/// draws.
struct SampleNoise {
  Shape shape;
  bool one_row = false;
};
std::optional<SampleNoise> sample_noise(const DropoutSpec& spec, const Shape& in);

/// In training multiplies each element by a normal random number of mean 1 and standard deviation sqrt(rate / (1 -
/// rate)), a function of (seed, layer, step, sample), not of the replica (Keras GaussianDropout).
struct GaussianDropoutSpec {
  float rate = 0;
};

/// That deviation.
float deviation(const GaussianDropoutSpec& spec);

/// In training adds a normal random number of mean 0 to each element, a function of (seed, layer, step, sample), not of
/// the replica (Keras GaussianNoise).
struct GaussianNoiseSpec {
  float stddev = 0;
};

/// Dropout of whole channels of steps, images or volumes: in training keeps each channel of a sample with probability
/// 1 - rate over all its positions and scales it by 1 / (1 - rate); a function of (seed, layer, step, sample), not of
/// the replica (Keras SpatialDropout1D, 2D, 3D).
template <int Rank>
struct SpatialDropoutSpec {
  float rate = 0;
};
using SpatialDropout1DSpec = SpatialDropoutSpec<1>;
using SpatialDropout2DSpec = SpatialDropoutSpec<2>;
using SpatialDropout3DSpec = SpatialDropoutSpec<3>;

/// In training drops a whole sample's values with probability drop_path_rate and divides those of the others by
/// 1 - drop_path_rate; a function of (seed, layer, step, sample), not of the replica (StochasticDepth of Keras
/// Applications' ConvNeXt).
struct StochasticDepthSpec {
  float drop_path_rate = 0;
};

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::NoiseShape> {
  static bool read(const Node&, Reader&, nn::NoiseShape& out);
  static Node write(const nn::NoiseShape&);
  static Node schema();
};
}  // namespace dptrain::config
