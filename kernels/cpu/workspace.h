#pragma once

// Cuts workspaces into parts and work into blocks. Any thread.

#include <algorithm>
#include <cstdint>

namespace dptrain::kernels::cpu {

/// Rounds up to whole cache lines.
constexpr int64_t lines(int64_t floats) { return (floats + 15) / 16 * 16; }
/// Rounds up to an odd number of lines, so that neighbouring arrays do not map to the same cache sets.
constexpr int64_t odd_lines(int64_t floats) { return lines(floats) + (lines(floats) / 16 % 2 == 0 ? 16 : 0); }

/// Parts of a workspace, each aligned to a cache line. With a null workspace it only counts the size.
class WorkspaceParts {
 public:
  explicit WorkspaceParts(float* workspace) : start_(workspace) {
    const auto at = reinterpret_cast<uintptr_t>(workspace);
    if (workspace != nullptr) start_ += (64 - at % 64) % 64 / sizeof(float);
  }
  float* take(int64_t floats) {
    float* const part = start_ == nullptr ? nullptr : start_ + taken_;
    taken_ += lines(floats);
    return part;
  }
  /// Includes the padding for aligning the first part.
  int64_t taken() const { return taken_ + 15; }

 private:
  float* start_;
  int64_t taken_ = 0;
};

/// Size of a block: at most `most`, a multiple of `step`, and about the same for all blocks that cover `total`.
constexpr int64_t even_block(int64_t most, int64_t total, int64_t step) {
  most = std::min(std::max(step, most / step * step), std::max<int64_t>(1, total));
  const int64_t blocks = (total + most - 1) / most;
  const int64_t each = (total + blocks - 1) / std::max<int64_t>(1, blocks);
  return std::max<int64_t>(1, (each + step - 1) / step) * step;
}

}  // namespace dptrain::kernels::cpu
