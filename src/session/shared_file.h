#pragma once

// SharedFile: makes a file of process 0 readable in every process. The others get a copy in memory under a path of
// their own, so no shared file system is needed. Main thread.

#include <string>

#include "distributed/processes.h"

namespace dptrain::session {

class SharedFile {
 public:
  /// `path`: that of process 0; "": no file. All processes call it. With one process it is the file itself. Throws
  /// Error{kCheckpoint} if the file cannot be read, Error{kMemory} if it does not fit.
  SharedFile(distributed::Processes* processes, const std::string& path);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  /// Valid while this object exists; "" if there is no file.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int memory_ = -1;  ///< file descriptor of the copy; -1: none
};

}  // namespace dptrain::session
