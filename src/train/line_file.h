#pragma once

// LineFile: a text file that grows by whole lines, for scripts that read it while it grows. A line that cannot be
// written (the disk is full) is kept and tried again with the next one; training does not stop for it. One thread.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dptrain::train {

class LineFile {
 public:
  LineFile() = default;
  explicit LineFile(std::string path) : path_(std::move(path)) {}

  /// Appends and flushes; `header` goes before the first line of a new file. Warns once when it fails.
  void append(const std::string& line, const std::string& header = "");

  /// Tries once more what could not be written; false: it is lost when this object goes.
  bool flush();

  /// Whole lines of a file; a torn last line (the writer was killed) is left out. Empty when there is no file. Throws
  /// Error{kWrite} when it cannot be read.
  static std::vector<std::string> read(const std::string& path);
  /// Keeps the lines that `keep` likes and cuts a torn one. Throws Error{kWrite}; then the file is as it was.
  static void filter(const std::string& path, const std::function<bool(const std::string& line)>& keep);

 private:
  int write_pending();  ///< errno

  std::string path_, header_, pending_;
  bool warned_ = false;
};

/// Appends all of it or nothing, behind `header` where the file is new or empty; returns errno, 0 when it is written.
int append_whole(const std::string& path, const std::string& header, const std::string& text);

/// All of a file; "" when there is none. Throws Error{kWrite} when it cannot be read: what builds on it must not go on.
std::string read_text(const std::string& path);

/// Replaces a file as a whole, atomically. Throws Error{kWrite}.
void write_text(const std::string& path, const std::string& text);

}  // namespace dptrain::train
