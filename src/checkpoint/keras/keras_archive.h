#pragma once

// A `.keras` file: a zip archive that holds config.json and model.weights.h5 among others. Keras stores its members
// without compression, so the weights are read where they lie, like any HDF5 file; an archive that was packed anew may
// be deflated, and is then inflated into memory by zlib. Every offset and length is checked: the contents are not to be
// trusted. A general zip library would want a file or all of its bytes, where this needs a window. One thread at a
// time.

#include <memory>
#include <string>

#include "checkpoint/hdf5/hdf5_bytes.h"

namespace dptrain::checkpoint {

bool is_archive(const Hdf5Bytes& file);

/// The member's bytes, its CRC-32 checked; null where there is none of that name. Named after the archive.
std::shared_ptr<const Hdf5Bytes> archive_member(const std::shared_ptr<const Hdf5Bytes>& archive,
                                                const std::string& name);

}  // namespace dptrain::checkpoint
