#pragma once

namespace dptrain::data {

/// (x - mean) / max(standard deviation, 1 / sqrt(elements)) over the image (TensorFlow's).
struct PerImageStandardizationSpec {};

}  // namespace dptrain::data
