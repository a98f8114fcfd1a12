#pragma once

// Normalization over a batch, the features or groups of them, and layers that scale and shift channels.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/value.h"
#include "core/shape.h"
#include "nn/initializer.h"

namespace dptrain::nn {

// Scales and offsets of channels: Rescaling, Normalization

/// One value, or one for each channel; a single one is written without a list.
struct ChannelValues {
  std::vector<double> values;
  double of(std::size_t channel) const { return values.size() == 1 ? values[0] : values[channel]; }
};

/// Of each channel: (x - shift) scale + offset.
struct ChannelAffine {
  explicit ChannelAffine(std::size_t channels) : shift(channels), scale(channels), offset(channels) {}
  std::vector<float> shift, scale, offset;
};

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis; training: biased batch moments,
/// inference (and `trainable: false`): moving averages (Keras BatchNormalization).
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
  bool inference_mode = false;  ///< moving averages in training, too, which stay as they are; gamma and beta train
  bool synchronized = false;    ///< moments over all replicas' samples; also parallel.sync_batchnorm
};

/// The first input plus the second times scale (CustomScaleLayer of Keras Applications' InceptionResNetV2).
struct CustomScaleLayerSpec {
  double scale = 1;
};

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased variance of each sample over all
/// positions and a group of neighbouring channels (Keras GroupNormalization).
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

/// Of an input that the layer accepts.
inline std::int64_t group_count(const GroupNormalizationSpec& spec, const Shape& in) {
  return spec.groups == -1 ? in.back() : spec.groups;
}

/// y = gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased variance over the last axes of each
/// sample; gamma and beta have their shape (Keras LayerNormalization).
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

/// y = scale * x / sqrt(mean(x^2) + epsilon), with the mean over the last axes of each sample; scale has their shape
/// (Keras RMSNormalization).
struct RMSNormalizationSpec {
  std::vector<std::int64_t> axis{-1};  ///< the last one or the last few; the batch is axis 0
  double epsilon = 1e-6;
};

/// Extents of the axes that are normalized. Throws LayerError where they are not the last ones.
Shape normalized_shape(const std::vector<std::int64_t>& axis, const Shape& in);

/// x times a learned factor for each of the channels, the last axis (LayerScale of Keras Applications' ConvNeXt).
struct LayerScaleSpec {
  double init_values = 1e-6;        ///< what all factors begin with
  std::int64_t projection_dim = 1;  ///< how many channels there are
};

/// y = x / (bias + alpha * sum over channels [c - r, c + r] of x^2)^beta, nothing divided by the window
/// (TensorFlow's local_response_normalization; Keras has no such layer).
struct LocalResponseNormalizationSpec {
  std::int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5F;
};

/// (x - mean) / max(sqrt(variance), 1e-7) along the last axis, or inverted x max(sqrt(variance), 1e-7) + mean. The
/// values are the config's, or weights that training leaves alone: what adapt() has found (Keras Normalization).
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;  ///< one value, or one for each channel; as many of both. None: weights
  bool invert = false;
};

/// Whether mean and variance are weights, in Keras's order mean, variance and count.
inline bool moments_are_weights(const NormalizationSpec& spec) { return spec.mean.empty(); }
/// For values of the config.
ChannelAffine channel_affine(const NormalizationSpec& spec, const Shape& in);
/// For values of the weights, one for each channel.
ChannelAffine channel_affine(const NormalizationSpec& spec, std::span<const float> mean,
                             std::span<const float> variance);

/// x * scale + offset, each one value or one for each channel, the last axis (Keras Rescaling).
struct RescalingSpec {
  ChannelValues scale{{1}};
  ChannelValues offset{{0}};
};

/// Whether all channels are treated alike.
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
