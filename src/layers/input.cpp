#include "layers/input.h"

#include "layers/geometry.h"
#include "layers/keras_export.h"
#include "layers/layer.h"

namespace dptrain::layers {
namespace {

const Registered kInput =
    layer<InputSpec>("Input")
        .positional(key("shape", &InputSpec::shape).required().at_least(1).check([](const Shape& shape) {
          const bool sane = shape.rank() >= 1 && shape.rank() <= 6;
          return sane ? Bounded{}(shape) : std::string("must have 1 to 6 extents (without the batch)");
        }))
        .key(key("dtype", &InputSpec::dtype).doc("of the numbers: int32 are ids, which Embedding reads"))
        .inputs(0)
        .outputs([](const InputSpec& spec, std::span<const TensorDef>) {
          return std::vector<OutputDef>{{"", spec.shape, spec.dtype == InputType::kInt32 ? DType::kI32 : DType::kF32}};
        })
        .keras([](const InputSpec& spec, std::span<const Shape>) {
          config::Node batch = keras_extents(spec.shape);
          batch.items().insert(batch.items().begin(), config::Node());
          return keras_object({{"batch_input_shape", batch},
                               {"dtype", keras_text(config::Value<InputType>::write(spec.dtype).str())},
                               {"sparse", config::Node::boolean(false)},
                               {"ragged", config::Node::boolean(false)}});
        });

}  // namespace
}  // namespace dptrain::layers
