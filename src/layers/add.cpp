#include "layers/add.h"

#include "layers/layer.h"
#include "layers/merge.h"

namespace dptrain::layers {
namespace {

const Registered kAdd =
    layer<AddSpec>("Add").inputs(2, -1).masks(MaskRule::kJoins).output([](const AddSpec&, std::span<const Shape> in) {
      return broadcast(in);
    });

}  // namespace
}  // namespace dptrain::layers
