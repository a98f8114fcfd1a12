#include "train/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"

namespace dptrain::train {
namespace {

std::string owner_of(int file) {
  std::array<char, 128> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "another process";
}

/// "process 4711 on gauss", for people.
std::string this_process() {
  std::array<char, 65> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return fmt::format("process {}", getpid());
  return fmt::format("process {} on {}", getpid(), host.data());
}

}  // namespace

RunLock::RunLock(const std::string& directory) {
  const std::string path = (std::filesystem::path(directory) / experiment::kRunLock).string();
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file_ < 0)
    throw Error(ErrorKind::kWrite,
                fmt::format("{}: cannot write: {}; choose another folder with --run-dir", path, std::strerror(errno)));
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int failure = errno;
    const std::string owner = owner_of(file_);
    close(std::exchange(file_, -1));
    if (failure == EWOULDBLOCK)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--run-dir: {} trains into {} now; wait until it ends, stop it, or choose "
                              "another folder",
                              owner, directory));
    log::warn(fmt::format("{}: cannot lock: {}; see to it that no other process trains into {}", path,
                          std::strerror(failure), directory));
    return;
  }
  const std::string owner = this_process();
  if (ftruncate(file_, 0) != 0 || pwrite(file_, owner.data(), owner.size(), 0) < 0)
    log::warn(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));  // the lock is there all the same
}

RunLock::RunLock(RunLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

RunLock::~RunLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace dptrain::train
