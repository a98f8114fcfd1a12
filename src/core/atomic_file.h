#pragma once

// A file that is either the old one or the whole new one, whatever happens in between. Any thread; two writers of the
// same path must take turns.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dptrain {

/// Writes the parts, one after the other, as `path`: temporary name `.<file>.tmp-<pid>` in the same folder, fsync,
/// rename, fsync of the folder. Temporaries of the same file that a killed process left are removed first. Throws
/// Error{kWrite}; then the old file is untouched and no temporary is left. What is no regular file (a pipe, a device)
/// is written to directly. Returns the bytes written.
std::uint64_t write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts);

/// "net.h5" of the name ".net.h5.tmp-4711", "" of any other.
std::string target_of_temporary(const std::string& name);

}  // namespace dptrain
