#pragma once

namespace dptrain::nn {

/// The mean of max(0, 1 - y p) with labels of -1 and 1; a label of 0 counts as -1 (Keras 3, Hinge, which looks for
/// labels of 0 and 1 in the whole batch: the same for labels of either kind).
struct HingeSpec {};

}  // namespace dptrain::nn
