#include "device/fusions.h"

#include "layers/add.h"
#include "layers/batch_normalization.h"
#include "layers/conv2d.h"
#include "layers/conv2d_transpose.h"
#include "layers/dense.h"
#include "layers/depthwise_conv2d.h"
#include "layers/max_pooling2d.h"
#include "layers/separable_conv2d.h"

namespace dptrain::device {

bool op_fuses_activation(const config::Typed& layer, layers::Activation activation) {
  if (!layers::can_be_epilogue(activation)) return false;
  if (layer.get_if<layers::BatchNormalizationSpec>() != nullptr) return activation == layers::Activation::kRelu;
  return layer.get_if<layers::Conv2DSpec>() != nullptr || layer.get_if<layers::DenseSpec>() != nullptr ||
         layer.get_if<layers::DepthwiseConv2DSpec>() != nullptr ||
         layer.get_if<layers::SeparableConv2DSpec>() != nullptr ||
         layer.get_if<layers::Conv2DTransposeSpec>() != nullptr || layer.get_if<layers::AddSpec>() != nullptr;
}

bool op_masks_relu(const config::Typed& pooling) { return pooling.get_if<layers::MaxPooling2DSpec>() != nullptr; }

}  // namespace dptrain::device
