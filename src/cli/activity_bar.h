#pragma once

// The bar of what goes on before and beside the work that has one of its own: opening data, scanning, preparing
// replicas. Shown on a terminal, once it has lasted for a moment.

#include <optional>

#include "core/activity.h"
#include "train/progress.h"

namespace dptrain::cli {

/// As long as it lives, activities are shown. One at a time; a thread of its own draws.
class ActivityBar {
 public:
  explicit ActivityBar(train::ProgressMode mode);

 private:
  train::Progress progress_;
  std::optional<ActivityWatch> watch_;
};

}  // namespace dptrain::cli
