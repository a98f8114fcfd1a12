#pragma once

namespace dptrain::train {

/// Of each epoch its time and images per second, and the total time.
struct TimeHistorySpec {};

}  // namespace dptrain::train
