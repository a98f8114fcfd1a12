#include "nn/add.h"

#include "nn/layer.h"
#include "nn/merge.h"

namespace dptrain::nn {
namespace {

const Registered kAdd =
    layer<AddSpec>("Add").inputs(2, -1).masks(MaskRule::kJoins).output([](const AddSpec&, std::span<const Shape> in) {
      return broadcast(in);
    });

}  // namespace
}  // namespace dptrain::nn
