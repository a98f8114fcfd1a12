#pragma once

namespace dptrain::data {

/// What keras.applications does to the pixels of its networks.
enum class PreprocessMode { kCaffe, kTf, kTorch };
struct PreprocessInputSpec {
  PreprocessMode mode = PreprocessMode::kCaffe;
};

}  // namespace dptrain::data
