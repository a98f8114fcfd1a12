#pragma once

// What tells cheaply that a file is another one than before.

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "data/sources/hash.h"

namespace dptrain::data {

/// Its size and the time of its last change enter the hash; of a file that is not there, that.
inline std::uint64_t hash_stamp(const std::string& path, std::uint64_t hash) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return hash_number(0, hash);
  hash = hash_number(static_cast<std::uint64_t>(info.st_size), hash);
  hash = hash_number(static_cast<std::uint64_t>(info.st_mtim.tv_sec), hash);
  return hash_number(static_cast<std::uint64_t>(info.st_mtim.tv_nsec), hash);
}

/// Its size, and its first and last 4096 bytes; of a file that cannot be opened a 0: that is told when it is read.
std::uint64_t hash_ends(const std::string& path, std::uint64_t hash);

}  // namespace dptrain::data
