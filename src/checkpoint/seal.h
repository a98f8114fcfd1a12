#pragma once

#include "checkpoint/hdf5/hdf5_bytes.h"

namespace dptrain::checkpoint {

/// True when there is a seal (export/seal.h) and it fits, false when there is none. Throws Error{kCheckpoint} when it
/// does not fit.
bool check_seal(const Hdf5Bytes& file);

}  // namespace dptrain::checkpoint
