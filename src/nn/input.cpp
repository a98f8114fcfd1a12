#include "nn/input.h"

#include "nn/geometry.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

const Registered kInput =
    layer<InputSpec>("Input")
        .positional(key("shape", &InputSpec::shape)
                        .required()
                        .at_least(1)
                        .check([](const Shape& shape) {
                          const bool sane = shape.rank() >= 1 && shape.rank() <= 6;
                          return sane ? Bounded{}(shape) : std::string("must have 1 to 6 extents (without the batch)");
                        })
                        .doc("extents of one sample, without the batch: [height, width, channels]"))
        .key(key("dtype", &InputSpec::dtype).doc("of the numbers: int32 are ids, which Embedding reads"))
        .inputs(0)
        .outputs([](const InputSpec& spec, std::span<const TensorDef>) {
          return std::vector<OutputDef>{{"", spec.shape, spec.dtype == InputType::kInt32 ? DType::kI32 : DType::kF32}};
        });

}  // namespace
}  // namespace dptrain::nn
