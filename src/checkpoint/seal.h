#pragma once

// The seal: 24 bytes after the end of the HDF5 data, "\ndptrain crc32 1a2b3c4d\n", the CRC-32 of all bytes before them.
// Readers of HDF5 look no further than the end address in the file's head, so they do not see it; whoever changes the
// file with such a library cuts it off, and the file counts as unsealed.

#include <array>
#include <cstddef>
#include <span>

#include "checkpoint/hdf5/hdf5_bytes.h"

namespace dptrain::checkpoint {

constexpr std::size_t kSealBytes = 24;

std::array<std::byte, kSealBytes> seal_of(std::span<const std::byte> bytes);
/// True when there is a seal and it fits, false when there is none. Throws Error{kCheckpoint} when it does not fit.
bool check_seal(const Hdf5Bytes& file);

}  // namespace dptrain::checkpoint
