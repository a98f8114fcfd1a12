#pragma once

// The bytes of an HDF5 file, as core/file_bytes.h reads them, with words for checkpoints.

#include <memory>
#include <string>
#include <vector>

#include "core/file_bytes.h"

namespace dptrain::checkpoint {

using Hdf5Bytes = FileBytes;

/// Throws Error{kCheckpoint} when the file cannot be opened, as everything that reads it does for damage.
std::shared_ptr<const Hdf5Bytes> checkpoint_file(const std::string& path);
std::shared_ptr<const Hdf5Bytes> checkpoint_bytes(std::string name, std::vector<std::byte> bytes);

/// Text up to the first NUL.
inline std::string until_nul(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    if (byte == std::byte{0}) break;
    text += std::to_integer<char>(byte);
  }
  return text;
}

}  // namespace dptrain::checkpoint
