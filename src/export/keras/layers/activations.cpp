#include "export/keras/keras_layer.h"
#include "layers/leaky_relu.h"
#include "layers/prelu.h"

namespace dptrain::exporting::keras {
namespace {

/// By the name that every Keras reads.
const RegisteredLayer kLeakyReLU = layer<layers::LeakyReLUSpec>().renamed("negative_slope", "alpha");

const RegisteredLayer kPReLU = layer<layers::PReLUSpec>()
                                   .behind("alpha_regularizer", "alpha_constraint", config::Node())
                                   .writes("shared_axes", [](const layers::PReLUSpec& spec) {
                                     return spec.shared_axes.rank() > 0 ? extents(spec.shared_axes) : config::Node();
                                   });

}  // namespace
}  // namespace dptrain::exporting::keras
