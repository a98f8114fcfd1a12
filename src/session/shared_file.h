#pragma once

// SharedFile: a file that process 0 has, as a file of every process. The others get its bytes in memory under a name of
// their own, so that no file system need be shared. Main thread.

#include <string>

#include "distributed/processes.h"

namespace dptrain::session {

class SharedFile {
 public:
  /// `path` counts on process 0; "" there: no file. All processes together. With one process the file itself. Throws
  /// Error{kCheckpoint} where it cannot be read, Error{kMemory} where there is no room for it.
  SharedFile(distributed::Processes* processes, const std::string& path);
  ~SharedFile();
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  /// To be read while this object lives; "" where process 0 has none.
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int memory_ = -1;  ///< its file descriptor
};

}  // namespace dptrain::session
