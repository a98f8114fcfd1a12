#include "nn/softmax.h"

#include "core/format.h"
#include "nn/layer.h"

namespace dptrain::nn {
namespace {

Shape output(const SoftmaxSpec& spec, std::span<const Shape> in) {
  // Keras counts the batch as axis 0, so the last axis of a sample has the number of its rank.
  if (in[0].rank() == 0 || (spec.axis != -1 && spec.axis != in[0].rank()))
    throw LayerError(fmt::format("axis {} is not supported: only the last axis is, -1 or {}", spec.axis, in[0].rank()));
  return in[0];
}

const Registered kSoftmax = layer<SoftmaxSpec>("Softmax")
                                .positional(key("axis", &SoftmaxSpec::axis))
                                .inputs(1)
                                .masks(MaskRule::kHeeds)
                                .output(output)
                                .backward_reads(BackwardReads{.output = true});

}  // namespace
}  // namespace dptrain::nn
