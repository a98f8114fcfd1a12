#pragma once

// FileList: the files below some folders, in a fixed order. A name takes its length plus 13 bytes. One thread fills
// the list; then any thread may read it.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "data/sources/hash.h"

namespace dptrain::data {

/// Adds the file's size and modification time to the hash; a 0 if the file does not exist.
inline std::uint64_t hash_stamp(const std::string& path, std::uint64_t hash) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return hash_number(0, hash);
  hash = hash_number(static_cast<std::uint64_t>(info.st_size), hash);
  hash = hash_number(static_cast<std::uint64_t>(info.st_mtim.tv_sec), hash);
  return hash_number(static_cast<std::uint64_t>(info.st_mtim.tv_nsec), hash);
}

/// Adds the file's size and its first and last 4096 bytes to the hash; a 0 if it cannot be opened.
std::uint64_t hash_ends(const std::string& path, std::uint64_t hash);

class FileList {
 public:
  void add_file(const std::string& path);
  /// Adds all files below a folder: its own files sorted by bytes, then those of each sub-folder, sorted. Follows
  /// links; enters each folder once, and none above `folder`. Skips hidden names, special files, and names for
  /// which `accepts` returns false. A dangling link counts as a file. Throws Error{kData} for a folder that cannot be
  /// read.
  void add_folder(const std::string& folder, const std::function<bool(const char* name)>& accepts = {});

  std::int64_t size() const { return static_cast<std::int64_t>(names_.size()); }
  std::string path(std::int64_t index) const;
  /// Hash of the file names, without their folders, for a fingerprint.
  std::uint64_t hash(std::uint64_t hash) const;

 private:
  class Walk;
  void add_name(const char* name);  ///< to the last folder

  std::vector<std::string> folders_;
  std::vector<char> text_;             // zero-terminated names
  std::vector<std::uint64_t> names_;   // offset of each name in text_
  std::vector<std::uint32_t> owners_;  // index of its folder
};

/// Names of the sub-folders of `folder`, as Listing::folders. Sets `files` to the number of files directly in `folder`.
/// Throws Error{kData}.
std::vector<std::string> sub_folders(const std::string& folder, std::int64_t& files);

/// Entries of a folder, each list sorted by bytes. Links are resolved; hidden names are skipped. Throws Error{kData}.
struct Listing {
  std::vector<std::string> files, folders;
};
Listing list_folder(const std::string& folder);

/// Reads the file into `bytes`. Throws SampleError with the system's message, and for more than 1 GiB.
void read_file(const std::string& path, std::vector<std::uint8_t>& bytes);

}  // namespace dptrain::data
