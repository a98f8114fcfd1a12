#pragma once

namespace dptrain::train {

/// Time and images per second of each epoch, and the total time.
struct TimeHistorySpec {};

}  // namespace dptrain::train
