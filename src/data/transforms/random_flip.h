#pragma once

namespace dptrain::data {

enum class FlipMode { kHorizontal, kVertical, kHorizontalAndVertical };
/// Each direction with probability 1/2, independently.
struct RandomFlipSpec {
  FlipMode mode = FlipMode::kHorizontalAndVertical;
};

}  // namespace dptrain::data
