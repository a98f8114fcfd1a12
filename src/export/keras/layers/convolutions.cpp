// Dense and the convolutions: Keras has constraints besides.

#include "export/keras/keras_layer.h"
#include "layers/conv1d.h"
#include "layers/conv1d_transpose.h"
#include "layers/conv2d.h"
#include "layers/conv2d_transpose.h"
#include "layers/conv3d.h"
#include "layers/conv3d_transpose.h"
#include "layers/dense.h"
#include "layers/depthwise_conv1d.h"
#include "layers/depthwise_conv2d.h"
#include "layers/separable_conv1d.h"
#include "layers/separable_conv2d.h"

namespace dptrain::exporting::keras {
namespace {

const RegisteredLayer kDense =
    layer<layers::DenseSpec>().unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

template <class Spec>
LayerBuilder<Spec> convolution() {
  return layer<Spec>()
      .behind("padding", "data_format", channels_last())
      .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});
}

const RegisteredLayer kConv1D = convolution<layers::Conv1DSpec>();
const RegisteredLayer kConv2D = convolution<layers::Conv2DSpec>();
const RegisteredLayer kConv3D = convolution<layers::Conv3DSpec>();
const RegisteredLayer kConv1DTranspose = convolution<layers::Conv1DTransposeSpec>().last("output_padding");
const RegisteredLayer kConv2DTranspose = convolution<layers::Conv2DTransposeSpec>().last("output_padding");
const RegisteredLayer kConv3DTranspose = convolution<layers::Conv3DTransposeSpec>().last("output_padding");

template <class Spec>
LayerBuilder<Spec> depthwise() {
  return layer<Spec>()
      .behind("depth_multiplier", "data_format", channels_last())
      .unset({"activity_regularizer", "depthwise_constraint", "bias_constraint"});
}

const RegisteredLayer kDepthwiseConv1D = depthwise<layers::DepthwiseConv1DSpec>();
const RegisteredLayer kDepthwiseConv2D = depthwise<layers::DepthwiseConv2DSpec>();

template <class Spec>
LayerBuilder<Spec> separable() {
  return layer<Spec>()
      .behind("padding", "data_format", channels_last())
      .unset({"activity_regularizer", "depthwise_constraint", "pointwise_constraint", "bias_constraint"});
}

const RegisteredLayer kSeparableConv1D = separable<layers::SeparableConv1DSpec>();
const RegisteredLayer kSeparableConv2D = separable<layers::SeparableConv2DSpec>();

}  // namespace
}  // namespace dptrain::exporting::keras
