#pragma once

// What the labels of an output are, after the loss and the output have been seen.

namespace dptrain::optim {

enum class LabelKind { kClass /*int32*/, kDense /*float row as wide as the output*/ };

}  // namespace dptrain::optim
