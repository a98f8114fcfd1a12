#pragma once

// EventFile: a file of events that grows while a run goes on. It is a file of TFRecord: each record is its length (8
// bytes, little-endian), the masked CRC-32C of these, the bytes, and their masked CRC-32C. Records are gathered and
// written about every two seconds, whole ones only; what cannot be written is kept and tried again, and training does
// not stop for it. One thread.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"

namespace dptrain::train::tensorboard {

class EventFile {
 public:
  /// The file appears with its first records.
  explicit EventFile(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// Behind those that there are; to the disk when it is time.
  void append(std::string_view event);
  /// Writes what is gathered; false: it could not be written. Warns once while it fails.
  bool flush();

 private:
  std::string path_, pending_;
  double written_ = now_seconds();
  bool warned_ = false;
};

/// A record around these bytes.
std::string framed(std::string_view bytes);

/// What the records of such a file hold, up to the first that is torn or damaged; they point into `file`.
std::vector<std::string_view> records(std::string_view file);

/// Takes the records out that `keep` does not like, and what is torn or damaged with all behind it. Atomically; a file
/// of which all may stay is not touched. Throws Error{kWrite}; then it is as it was.
void filter_records(const std::string& path, const std::function<bool(std::string_view record)>& keep);

}  // namespace dptrain::train::tensorboard
