#pragma once

// FileList: the files below some folders, in a fixed order, in little memory: a name costs its bytes and 13 more.
// Filled by one thread, then read by any.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "data/sources/hash.h"

namespace dptrain::data {

// Hashes that show cheaply that a file has changed.

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

class FileList {
 public:
  /// One file as it is.
  void add_file(const std::string& path);
  /// All below a folder: its own files sorted by the bytes of their names, then each sub-folder, sorted, in the same
  /// way. Symbolic links are followed, each folder is entered once and none above `folder`. Left out: names that begin
  /// with a dot, and what is neither file nor folder, and names that `wanted`, where it is given, says no to. A link to
  /// nothing counts as a file. Throws Error{kData} for a folder that cannot be read.
  void add_folder(const std::string& folder, const std::function<bool(const char* name)>& wanted = {});

  std::int64_t size() const { return static_cast<std::int64_t>(names_.size()); }
  std::string path(std::int64_t index) const;
  /// Of the names, without the folders', for a fingerprint.
  std::uint64_t hash(std::uint64_t hash) const;

 private:
  class Walk;
  void add_name(const char* name);  ///< in the last folder

  std::vector<std::string> folders_;
  std::vector<char> text_;             // names, each with a zero behind it
  std::vector<std::uint64_t> names_;   // where each begins in text_
  std::vector<std::uint32_t> owners_;  // its folder
};

/// Names of the sub-folders of `folder`, also behind links, sorted by bytes; hidden ones are left out. `files`: how
/// many files lie beside them. Throws Error{kData}.
std::vector<std::string> sub_folders(const std::string& folder, std::int64_t& files);

/// What lies directly in a folder, also behind links, each sorted by bytes; hidden names are left out. Throws
/// Error{kData}.
struct Listing {
  std::vector<std::string> files, folders;
};
Listing list_folder(const std::string& folder);

/// The file's bytes into `bytes`. Throws SampleError with the system's words.
void read_file(const std::string& path, std::vector<std::uint8_t>& bytes);

}  // namespace dptrain::data
