#pragma once

#include <cstdint>
#include <vector>

namespace dptrain::data {

/// (x - mean) / max(sqrt(variance), 1e-7), with one value or one per channel.
struct NormalizationSpec {
  std::int64_t axis = -1;
  std::vector<double> mean, variance;
};

/// (x - mean) / max(sqrt(variance), 1 / sqrt(elements)) over the image, as in TensorFlow.
struct PerImageStandardizationSpec {};

/// Pixel preprocessing of the networks in keras.applications.
enum class PreprocessMode { kCaffe, kTf, kTorch };
struct PreprocessInputSpec {
  PreprocessMode mode = PreprocessMode::kCaffe;
};

/// x * scale + offset, as in Keras's Rescaling, with one value for all channels.
struct RescalingSpec {
  double scale = 1;
  double offset = 0;
};

}  // namespace dptrain::data
