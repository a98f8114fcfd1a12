#pragma once

// The step of RUN/fault once more, from its state and its samples; after an error the steps from its state to the
// error. Main thread.

#include <optional>
#include <string>
#include <vector>

#include "train/fault.h"

namespace dptrain::train {

struct Replay {
  Fault recorded, again;
  std::string devices;     ///< that it ran on: "3x1"
  bool finite = false;     ///< nothing is wrong any more
  bool same_bits = false;  ///< of the loss
  /// Not finite, and first in the same values of the same layer and row; or the same error.
  bool confirmed() const;
};

/// `devices`: instead of the run's. Throws Error{kCheckpoint} for a fault without a state, and what a session throws.
Replay replay(const std::string& folder, const std::optional<session::DeviceRequest>& devices,
              const experiment::Overrides& overrides);

}  // namespace dptrain::train
