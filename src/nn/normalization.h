#pragma once

// Normalization over a batch, the features or groups of them, and layers that scale and shift channels.

#include <cstdint>
#include <span>
#include <vector>

#include "config/value.h"
#include "core/shape.h"
#include "nn/initializer.h"

namespace dptrain::nn {

/// One value, or one for each channel; a single one is written without a list.
struct ChannelValues {
  std::vector<double> values;
  double of(std::size_t channel) const { return values.size() == 1 ? values[0] : values[channel]; }
};

/// Per channel: (x - shift) * scale + offset.
struct ChannelAffine {
  explicit ChannelAffine(std::size_t channels) : shift(channels), scale(channels), offset(channels) {}
  std::vector<float> shift, scale, offset;
};

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis (Keras BatchNormalization). Training
/// uses biased batch moments, inference and `trainable: false` the moving averages.
struct BatchNormalizationSpec {
  int axis = -1;  ///< only the last axis: -1, or its number (3 for images, batch counted)
  double momentum = 0.99;
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer{Zeros{}};
  Initializer gamma_initializer{Ones{}};
  Initializer moving_mean_initializer{Zeros{}};
  Initializer moving_variance_initializer{Ones{}};
  Regularizer beta_regularizer;
  Regularizer gamma_regularizer;
  /// Training also uses the moving averages and does not update them; gamma and beta train.
  bool inference_mode = false;
  bool synchronized = false;  ///< moments over the samples of all replicas; parallel.sync_batchnorm sets it, too
};

/// The first input plus the second times scale (CustomScaleLayer of Keras Applications' InceptionResNetV2).
struct CustomScaleLayerSpec {
  double scale = 1;
};

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta (Keras GroupNormalization). Mean and biased variance are
/// those of a sample over all positions and a group of adjacent channels.
struct GroupNormalizationSpec {
  std::int64_t groups = 32;  ///< -1: as many as channels
  int axis = -1;             ///< only the last axis: -1, or its number (3 for images, batch counted)
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer{Zeros{}};
  Initializer gamma_initializer{Ones{}};
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
};

inline std::int64_t group_count(const GroupNormalizationSpec& spec, const Shape& in) {
  return spec.groups == -1 ? in.back() : spec.groups;
}

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased variance over the last axes of each
/// sample. gamma and beta have the shape of these axes (Keras LayerNormalization).
struct LayerNormalizationSpec {
  std::vector<std::int64_t> axis{-1};  ///< the last one or the last few; the batch is axis 0
  double epsilon = 1e-3;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer{Zeros{}};
  Initializer gamma_initializer{Ones{}};
  Regularizer beta_regularizer{};
  Regularizer gamma_regularizer{};
};

/// y = scale * x / sqrt(mean(x^2) + epsilon), with the mean over the last axes of each sample. scale has the shape of
/// these axes (Keras RMSNormalization).
struct RMSNormalizationSpec {
  std::vector<std::int64_t> axis{-1};  ///< the last one or the last few; the batch is axis 0
  double epsilon = 1e-6;
};

/// Extents of the normalized axes. Throws LayerError if they are not the last ones.
Shape normalized_shape(const std::vector<std::int64_t>& axis, const Shape& in);

/// x times a learned factor for each of the channels, the last axis (LayerScale of Keras Applications' ConvNeXt).
struct LayerScaleSpec {
  double init_values = 1e-6;        ///< initial value of all factors
  std::int64_t projection_dim = 1;  ///< number of channels
};

/// y = x / (bias + alpha * sum over channels [c - r, c + r] of x^2)^beta, without division by the window size
/// (TensorFlow's local_response_normalization; Keras has no such layer).
struct LocalResponseNormalizationSpec {
  std::int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
};

/// (x - mean) / max(sqrt(variance), 1e-7) along the last axis, or inverted x * max(sqrt(variance), 1e-7) + mean (Keras
/// Normalization). Mean and variance are values of the config, or weights that adapt() has set and training does not
/// change.
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;  ///< one value, or one per channel; equally many of both. None: weights
  bool invert = false;
};

/// Whether mean and variance are weights, in Keras's order mean, variance and count.
inline bool moments_are_weights(const NormalizationSpec& spec) { return spec.mean.empty(); }
/// Uses the values of the config.
ChannelAffine channel_affine(const NormalizationSpec& spec, const Shape& in);
/// Uses the values of the weights, one per channel.
ChannelAffine channel_affine(const NormalizationSpec& spec, std::span<const float> mean,
                             std::span<const float> variance);

/// x * scale + offset. scale and offset are one value, or one per channel of the last axis (Keras Rescaling).
struct RescalingSpec {
  ChannelValues scale{{1}};
  ChannelValues offset{{0}};
};

/// Whether all channels have the same scale and offset.
bool is_plain(const RescalingSpec& spec);
ChannelAffine channel_affine(const RescalingSpec& spec, const Shape& in);

}  // namespace dptrain::nn

namespace dptrain::config {
template <>
struct Value<nn::ChannelValues> {
  static bool read(const Node& node, Reader& reader, nn::ChannelValues& out) {
    return Value<std::vector<double>>::read(node, reader, out.values);
  }
  static Node write(const nn::ChannelValues& channels) {
    return channels.values.size() == 1 ? Value<double>::write(channels.values[0])
                                       : Value<std::vector<double>>::write(channels.values);
  }
  static Node schema() { return Value<std::vector<double>>::schema(); }
};
}  // namespace dptrain::config
