#pragma once

// What a user needs to know when memory runs out: what the plan wants, and the batch that would fit. Main thread.

#include "core/error.h"
#include "train/session.h"

namespace dptrain::cli {

/// Makes the session; an Error{kMemory} on the way gets the memory plan of a replica and the largest global batch that fits.
std::unique_ptr<train::Session> make_session(const train::Experiment& experiment, const train::SessionOptions& options);

}  // namespace dptrain::cli
