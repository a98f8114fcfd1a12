#pragma once

// The HDF5 library keeps state of its own and is not made for threads: whoever calls it, in any room, holds this lock.

#include <mutex>

namespace dptrain {

inline std::mutex& hdf5_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace dptrain
