#pragma once

// A file that is either the old one or the whole new one, whatever happens in between. Any thread. Several writers of
// one path may run at a time: the file of the last one remains. On several machines this requires file locks between
// them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace dptrain {

/// Writes the parts, one after the other, as `path`: temporary name `.<file>.tmp-<random number>` in the same folder,
/// fsync, rename, fsync of the folder. The writer holds a lock (F_OFD_SETLK) on the temporary file. Temporaries of the
/// same file without a lock, which a killed process left, are removed first. Throws Error{kWrite}; then the old file is
/// untouched and no temporary is left. Pipes and devices are written to directly. Returns the bytes written.
std::uint64_t write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts);

/// Makes the folder and those above it that are missing, and syncs the folders that they are entries of, so that a file
/// in it survives a power failure.
std::error_code create_folders(const std::string& folder);

/// False with errno set. True as well if the folder cannot be opened, or the file system cannot sync folders.
bool sync_folder(const std::string& folder);

/// "net.h5" of the name ".net.h5.tmp-4711", "" of any other.
std::string target_of_temporary(const std::string& name);

}  // namespace dptrain
