#pragma once

// The names in an HDF5 group. In the oldest format: a B-tree whose leaves point to tables of symbols, texts in a local
// heap (HDF5 File Format Specification 3.0, sections III.A, III.B, III.D). HDF5 converts a group to link messages in
// its header when it gets a name that is not ASCII.

#include "checkpoint/hdf5/hdf5_object.h"

namespace dptrain::checkpoint {

/// `group`: the header of a group.
Hdf5Symbols read_symbols(const Hdf5Bytes& file, const Hdf5Header& group);

}  // namespace dptrain::checkpoint
