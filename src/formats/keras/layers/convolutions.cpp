// Dense and the convolutions: Keras has further arguments, such as constraints.

#include "nn/convolutions.h"
#include "formats/keras/keras_layer.h"

namespace dptrain::formats::keras {
namespace {

const RegisteredLayer kDense =
    layer<nn::DenseSpec>().unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

template <class Spec>
LayerBuilder<Spec> convolution() {
  return layer<Spec>()
      .behind("padding", "data_format", channels_last())
      .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});
}

const RegisteredLayer kConv1D = convolution<nn::Conv1DSpec>();
const RegisteredLayer kConv2D = convolution<nn::Conv2DSpec>();
const RegisteredLayer kConv3D = convolution<nn::Conv3DSpec>();
const RegisteredLayer kConv1DTranspose = convolution<nn::Conv1DTransposeSpec>().last("output_padding");
const RegisteredLayer kConv2DTranspose = convolution<nn::Conv2DTransposeSpec>().last("output_padding");
const RegisteredLayer kConv3DTranspose = convolution<nn::Conv3DTransposeSpec>().last("output_padding");

template <class Spec>
LayerBuilder<Spec> depthwise() {
  return layer<Spec>()
      .behind("depth_multiplier", "data_format", channels_last())
      .unset({"activity_regularizer", "depthwise_constraint", "bias_constraint"});
}

const RegisteredLayer kDepthwiseConv1D = depthwise<nn::DepthwiseConv1DSpec>();
const RegisteredLayer kDepthwiseConv2D = depthwise<nn::DepthwiseConv2DSpec>();

template <class Spec>
LayerBuilder<Spec> separable() {
  return layer<Spec>()
      .behind("padding", "data_format", channels_last())
      .unset({"activity_regularizer", "depthwise_constraint", "pointwise_constraint", "bias_constraint"});
}

const RegisteredLayer kSeparableConv1D = separable<nn::SeparableConv1DSpec>();
const RegisteredLayer kSeparableConv2D = separable<nn::SeparableConv2DSpec>();

}  // namespace
}  // namespace dptrain::formats::keras
