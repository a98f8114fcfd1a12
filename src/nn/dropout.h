#pragma once

// Layers that draw random numbers in training.

#include <cstdint>
#include <optional>
#include <vector>

#include "config/typed.h"
#include "core/shape.h"

namespace dptrain::nn {

/// Number of draws of Dropout along each axis, the batch first: the extent of the input (null in a config), or 1 for
/// all. Empty: one draw per element.
struct NoiseShape {
  std::vector<std::optional<std::int64_t>> extents;
};

/// In training keeps each element with probability 1 - rate and scales it by 1 / (1 - rate) (Keras Dropout). The mask
/// is a function of (seed, layer, step, sample), not of the replica. Along axes where noise_shape has 1, all elements
/// share one draw; with 1 for the batch all samples share it.
struct DropoutSpec {
  float rate = 0;
  NoiseShape noise_shape{};
};

/// The noise_shape of one sample, [1 or extent, ...]; one_row: all samples share the draws. sample_noise() returns
/// nothing if every element has its own draw.
struct SampleNoise {
  Shape shape;
  bool one_row = false;
};
std::optional<SampleNoise> sample_noise(const DropoutSpec& spec, const Shape& in);

/// In training multiplies each element by a normal random number of mean 1 and deviation sqrt(rate / (1 - rate)) (Keras
/// GaussianDropout). The numbers are a function of (seed, layer, step, sample), not of the replica.
struct GaussianDropoutSpec {
  float rate = 0;
};

float deviation(const GaussianDropoutSpec& spec);

/// In training adds a normal random number of mean 0 to each element (Keras GaussianNoise). The numbers are a function
/// of (seed, layer, step, sample), not of the replica.
struct GaussianNoiseSpec {
  float stddev = 0;
};

/// Dropout of whole channels of steps, images or volumes (Keras SpatialDropout1D, 2D, 3D). In training keeps a channel
/// of a sample at all positions with probability 1 - rate and scales it by 1 / (1 - rate). The mask is a function of
/// (seed, layer, step, sample), not of the replica.
template <int Rank>
struct SpatialDropoutSpec {
  float rate = 0;
};
using SpatialDropout1DSpec = SpatialDropoutSpec<1>;
using SpatialDropout2DSpec = SpatialDropoutSpec<2>;
using SpatialDropout3DSpec = SpatialDropoutSpec<3>;

/// In training sets all values of a sample to zero with probability drop_path_rate and divides the other samples by 1 -
/// drop_path_rate (StochasticDepth of Keras Applications' ConvNeXt). The choice is a function of (seed, layer, step,
/// sample), not of the replica.
struct StochasticDepthSpec {
  float drop_path_rate = 0;
};

}  // namespace dptrain::nn

namespace dptrain::config {
DPTRAIN_CONFIG_VALUE(nn::NoiseShape);
}  // namespace dptrain::config
