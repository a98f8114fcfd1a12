#pragma once

// The names in an HDF5 group of the oldest format: a B-tree whose leaves point to tables of symbols, texts in a local
// heap (HDF5 File Format Specification 3.0, sections III.A, III.B, III.D).

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "checkpoint/hdf5/hdf5_object.h"

namespace dptrain::checkpoint {

/// Name -> address of the object header; kUndefinedAddress for a soft link.
using Hdf5Symbols = std::map<std::string, std::uint64_t, std::less<>>;

/// `group`: the header of a group.
Hdf5Symbols read_symbols(const Hdf5Bytes& file, const Hdf5Header& group);

}  // namespace dptrain::checkpoint
