#pragma once

// Bytes reads a file or a descriptor sequentially and unpacks gzip. The reader owns it; one thread at a time.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/activity.h"
#include "core/files.h"

namespace dptrain::data::table {

/// Error messages for files of rows.
const FileErrors& csv_file_errors();
/// Throws Error{kData} if a path cannot be opened.
std::vector<std::shared_ptr<const FileBytes>> open_files(const std::vector<std::string>& paths);

class Bytes {
 public:
  virtual ~Bytes() = default;

  /// Reads 1 to `most` bytes; returns 0 at the end. Throws Error{kData} if they cannot be read or unpacked.
  virtual std::size_t read(char* to, std::size_t most) = 0;
  virtual const std::string& name() const = 0;
  /// The file, if its bytes are read unchanged; null for gzip and descriptors.
  virtual std::shared_ptr<const FileBytes> file() const { return nullptr; }
  /// Whether read() may block until another process writes.
  virtual bool may_wait() const { return false; }
};

/// Reads a plain or gzip file, recognized by its first two bytes. `activity` advances by the bytes read; may be null.
std::unique_ptr<Bytes> bytes_of(std::shared_ptr<const FileBytes> file, Activity* activity = nullptr);
std::unique_ptr<Bytes> bytes_of(int descriptor, std::string name);
/// Unpacks consecutive gzip members. `begin`: bytes that were read from `packed` before.
std::unique_ptr<Bytes> unpacked(std::unique_ptr<Bytes> packed, std::string begin);

}  // namespace dptrain::data::table
