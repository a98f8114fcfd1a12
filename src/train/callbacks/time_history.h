#pragma once

namespace dptrain::train {

/// Time and samples per second of each epoch, and the total time.
struct TimeHistorySpec {};

}  // namespace dptrain::train
