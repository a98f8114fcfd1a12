#include "core/atomic_file.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"

namespace dptrain {
namespace fs = std::filesystem;
namespace {

std::string system_error() { return std::strerror(errno); }  // NOLINT(concurrency-mt-unsafe): glibc's is per thread

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (statvfs(folder.c_str(), &info) != 0) return UINT64_MAX;  // not told: the write itself will tell
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

std::string no_space(const std::string& path, std::uint64_t need, std::uint64_t free, const std::string& reason) {
  return fmt::format(
      "cannot write '{}': {}; the file needs {} ({} bytes), the file system has {} ({} bytes) free. Free some space, "
      "or "
      "choose another run directory",
      path, reason, human_bytes(need), need, human_bytes(free), free);
}

/// Temporaries of `file` whose process is gone, or is this one.
void remove_leftovers(const fs::path& folder, const std::string& file) {
  std::error_code ignored;
  for (fs::directory_iterator entry(folder, ignored), end; !ignored && entry != end; entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (target_of_temporary(name) != file) continue;
    pid_t pid = 0;
    if (std::from_chars(name.data() + name.rfind('-') + 1, name.data() + name.size(), pid).ec != std::errc()) continue;
    const bool gone = pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH);
    std::error_code failed;  // somebody else's file: then it stays
    if (gone) fs::remove(entry->path(), failed);
  }
}

/// A pipe or a device, /dev/stdout too when it leads to a file: another file in its place would not be what was asked
/// for.
bool is_written_directly(const std::string& path) {
  struct stat info {};
  return path.starts_with("/dev/") ||
         (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

/// The file under its temporary name; removed again unless it has taken the real one.
class Temporary {
 public:
  /// Without a temporary name: `path` itself, which is there.
  Temporary(std::string path, std::string temporary) : path_(std::move(path)), temporary_(std::move(temporary)) {
    fd_ = temporary_.empty() ? open(path_.c_str(), O_WRONLY | O_CLOEXEC)
                             : open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) throw Error(ErrorKind::kWrite, fmt::format("cannot write '{}': {}", path_, system_error()));
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (fd_ >= 0) close(fd_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }

  /// False with errno set.
  bool write_all(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      // Linux writes at most 0x7ffff000 bytes at once.
      const ssize_t written = write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30U));
      if (written < 0 && errno == EINTR) continue;
      if (written == 0) errno = EIO;
      if (written <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return true;
  }
  /// Onto the disk and closed: some file systems (NFS, quotas) report a full disk only here. False with errno set.
  bool settle() {
    const bool synced = fsync(fd_) == 0;
    const int error = errno;
    const bool closed = close(std::exchange(fd_, -1)) == 0;
    if (!synced) errno = error;
    return synced && closed;
  }
  bool take_name() {
    if (rename(temporary_.c_str(), path_.c_str()) != 0) return false;
    temporary_.clear();
    return true;
  }

 private:
  std::string path_, temporary_;
  int fd_ = -1;
};

void sync_folder(const std::string& folder, const std::string& path) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // A folder that may not be read, or a file system that cannot sync one, has the file nevertheless.
  const bool good = fd < 0 || fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
  const std::string reason = good ? "" : system_error();
  if (fd >= 0) close(fd);
  if (!good)
    throw Error(ErrorKind::kWrite,
                fmt::format("'{}' is written, but its folder could not be synced: {}", path, reason));
}

}  // namespace

std::string target_of_temporary(const std::string& name) {
  const std::size_t end = name.rfind(".tmp-");
  const bool digits = end != std::string::npos && end + 5 < name.size() &&
                      name.find_first_not_of("0123456789", end + 5) == std::string::npos;
  return digits && name.front() == '.' ? name.substr(1, end - 1) : "";
}

std::uint64_t write_atomically(const std::string& path, const std::vector<std::span<const std::byte>>& parts) {
  const fs::path target(path);
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const std::string file = target.filename().string();
  std::uint64_t bytes = 0;
  for (const auto& part : parts) bytes += part.size();

  if (is_written_directly(path)) {
    Temporary direct(path, "");
    bool good = true;
    for (const auto& part : parts) good = good && direct.write_all(part);
    if (!good) throw Error(ErrorKind::kWrite, fmt::format("cannot write '{}': {}", path, system_error()));
    return bytes;
  }
  remove_leftovers(folder, file);
  // Before anything is written: a disk filled to the last byte hurts more than this file.
  if (const std::uint64_t free = free_bytes(folder.string()); free < bytes)
    throw Error(ErrorKind::kWrite, no_space(path, bytes, free, "not enough space"));

  Temporary temporary(path, (folder / fmt::format(".{}.tmp-{}", file, getpid())).string());
  bool good = true;
  for (const auto& part : parts) good = good && temporary.write_all(part);
  if (!good || !temporary.settle()) {
    const int error = errno;
    const std::string reason = system_error();
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
      throw Error(ErrorKind::kWrite, no_space(path, bytes, free_bytes(folder.string()), reason));
    throw Error(ErrorKind::kWrite, fmt::format("cannot write '{}': {}", path, reason));
  }
  if (!temporary.take_name())
    throw Error(ErrorKind::kWrite, fmt::format("cannot write '{}': {}", path, system_error()));
  sync_folder(folder.string(), path);
  return bytes;
}

}  // namespace dptrain
