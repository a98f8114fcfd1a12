#include "nn/activations.h"
#include "formats/keras/keras_layer.h"

namespace dptrain::formats::keras {
namespace {

/// Keras 2 accepts only the older name, and Keras 3 accepts it in an .h5.
const RegisteredLayer kLeakyReLU = layer<nn::LeakyReLUSpec>().in_keras2().renamed("negative_slope", "alpha");

const RegisteredLayer kPReLU = layer<nn::PReLUSpec>()
                                   .behind("alpha_regularizer", "alpha_constraint", config::Node())
                                   .writes("shared_axes", [](const nn::PReLUSpec& spec) {
                                     return spec.shared_axes.rank() > 0 ? extents(spec.shared_axes) : config::Node();
                                   });

}  // namespace
}  // namespace dptrain::formats::keras
