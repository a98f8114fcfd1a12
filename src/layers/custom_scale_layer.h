#pragma once

namespace dptrain::layers {

/// The first input plus the second times scale (CustomScaleLayer of Keras Applications' InceptionResNetV2).
struct CustomScaleLayerSpec {
  double scale = 1;
};

}  // namespace dptrain::layers
