// Dense and the convolutions: Keras has constraints besides.

#include "export/keras/keras_layer.h"
#include "layers/conv2d.h"
#include "layers/conv2d_transpose.h"
#include "layers/dense.h"
#include "layers/depthwise_conv2d.h"
#include "layers/separable_conv2d.h"

namespace dptrain::exporting::keras {
namespace {

const RegisteredLayer kDense =
    layer<layers::DenseSpec>().unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

const RegisteredLayer kConv2D = layer<layers::Conv2DSpec>()
                                    .behind("padding", "data_format", channels_last())
                                    .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"});

const RegisteredLayer kConv2DTranspose = layer<layers::Conv2DTransposeSpec>()
                                             .behind("padding", "data_format", channels_last())
                                             .unset({"activity_regularizer", "kernel_constraint", "bias_constraint"})
                                             .last("output_padding");

const RegisteredLayer kDepthwiseConv2D =
    layer<layers::DepthwiseConv2DSpec>()
        .behind("depth_multiplier", "data_format", channels_last())
        .unset({"activity_regularizer", "depthwise_constraint", "bias_constraint"});

const RegisteredLayer kSeparableConv2D =
    layer<layers::SeparableConv2DSpec>()
        .behind("padding", "data_format", channels_last())
        .unset({"activity_regularizer", "depthwise_constraint", "pointwise_constraint", "bias_constraint"});

}  // namespace
}  // namespace dptrain::exporting::keras
