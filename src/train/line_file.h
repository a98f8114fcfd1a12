#pragma once

// LineFile: a text file that grows by whole lines, so that scripts can read it meanwhile. A line that cannot be written
// (the disk is full) is retried with the next one; training continues. One thread.

#include <functional>
#include <string>
#include <vector>

namespace dptrain::train {

class LineFile {
 public:
  LineFile() = default;
  explicit LineFile(std::string path) : path_(std::move(path)) {}

  /// Appends and flushes; a new file begins with `header`. Warns once on failure.
  void append(const std::string& line, const std::string& header = "");

  /// Retries pending lines; false: they are lost when this object is destroyed.
  bool flush();

  /// Whole lines of a file without a torn last one; empty if it does not exist. Throws Error{kWrite} if unreadable.
  static std::vector<std::string> read(const std::string& path);
  /// Keeps the lines accepted by `keep` and removes a torn one. Throws Error{kWrite}; the file is then unchanged.
  static void filter(const std::string& path, const std::function<bool(const std::string& line)>& keep);

 private:
  int write_pending();  ///< returns errno

  std::string path_, header_, pending_;
  bool warned_ = false;
};

/// Appends all text or none, after `header` if the file is new or empty. Returns errno, or 0 on success.
int append_whole(const std::string& path, const std::string& header, const std::string& text);

/// Contents of a file; "" if it does not exist. Throws Error{kWrite} if it cannot be read.
std::string read_text(const std::string& path);

/// Replaces a file atomically. Throws Error{kWrite}.
void write_text(const std::string& path, const std::string& text);

}  // namespace dptrain::train
