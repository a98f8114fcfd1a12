#pragma once

// Bytes: what a file or a descriptor holds, from front to back, unpacked where it is gzip. Owned by whoever reads; one
// thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/activity.h"
#include "core/files.h"

namespace dptrain::data::table {

/// How errors about files of rows are worded.
const FileVoice& csv_voice();
/// Throws Error{kData} where a path cannot be opened.
std::vector<std::shared_ptr<const FileBytes>> open_files(const std::vector<std::string>& paths);

class Bytes {
 public:
  virtual ~Bytes() = default;

  /// Up to `most` bytes, at least one, and 0 at the end. Throws Error{kData} where they cannot be read or unpacked.
  virtual std::size_t read(char* to, std::size_t most) = 0;
  virtual const std::string& name() const = 0;
  /// The file whose bytes these are, one by one; null where they are unpacked or come from a descriptor.
  virtual std::shared_ptr<const FileBytes> file() const { return nullptr; }
  /// Whether read() may wait for somebody to write more.
  virtual bool may_wait() const { return false; }
};

/// Plain or gzip: the first two bytes decide. `activity` advances by what is read of the file; it may be null.
std::unique_ptr<Bytes> bytes_of(std::shared_ptr<const FileBytes> file, Activity* activity = nullptr);
std::unique_ptr<Bytes> bytes_of(int descriptor, std::string name);
/// The contents of consecutive gzip members. `begin`: bytes that `packed` has given already.
std::unique_ptr<Bytes> unpacked(std::unique_ptr<Bytes> packed, std::string begin);

}  // namespace dptrain::data::table
