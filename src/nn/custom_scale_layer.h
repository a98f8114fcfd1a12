#pragma once

namespace dptrain::nn {

/// The first input plus the second times scale (CustomScaleLayer of Keras Applications' InceptionResNetV2).
struct CustomScaleLayerSpec {
  double scale = 1;
};

}  // namespace dptrain::nn
