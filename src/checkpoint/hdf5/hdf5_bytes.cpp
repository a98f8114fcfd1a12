#include "checkpoint/hdf5/hdf5_bytes.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::checkpoint {
namespace {

class FileBytes final : public Hdf5Bytes {
 public:
  FileBytes(std::string name, int fd, std::uint64_t size) : Hdf5Bytes(std::move(name), size), fd_(fd) {}
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override { close(fd_); }

 private:
  void copy(std::uint64_t offset, std::span<std::byte> out) const override {
    while (!out.empty()) {
      const ssize_t got = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(fmt::format("cannot be read: {}", std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
      if (got == 0) damaged("it became shorter while it was read");
      offset += static_cast<std::uint64_t>(got);
      out = out.subspan(static_cast<std::size_t>(got));
    }
  }

  int fd_;
};

class MemoryBytes final : public Hdf5Bytes {
 public:
  MemoryBytes(std::string name, std::vector<std::byte> bytes)
      : Hdf5Bytes(std::move(name), bytes.size()), bytes_(std::move(bytes)) {}

 private:
  void copy(std::uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

  std::vector<std::byte> bytes_;
};

[[noreturn]] void cannot_open(const std::string& path, const std::string& reason) {
  throw Error(ErrorKind::kCheckpoint, fmt::format("cannot open checkpoint '{}': {}", path, reason));
}

}  // namespace

std::shared_ptr<const Hdf5Bytes> Hdf5Bytes::of_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) cannot_open(path, std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  struct stat info {};
  const bool told = fstat(fd, &info) == 0;
  if (!told || !S_ISREG(info.st_mode)) {
    close(fd);
    cannot_open(path,
                told && S_ISDIR(info.st_mode) ? "it is a folder; name the file in it" : "it is not a regular file");
  }
  return std::make_shared<FileBytes>(path, fd, static_cast<std::uint64_t>(info.st_size));
}

std::shared_ptr<const Hdf5Bytes> Hdf5Bytes::of_memory(std::string name, std::vector<std::byte> bytes) {
  return std::make_shared<MemoryBytes>(std::move(name), std::move(bytes));
}

void Hdf5Bytes::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (!contains(offset, out.size()))
    damaged(fmt::format("{} bytes at {} lie outside of its {} bytes", out.size(), offset, size_));
  copy(offset, out);
}

std::vector<std::byte> Hdf5Bytes::read(std::uint64_t offset, std::uint64_t length) const {
  if (!contains(offset, length))
    damaged(fmt::format("{} bytes at {} lie outside of its {} bytes", length, offset, size_));
  std::vector<std::byte> bytes(static_cast<std::size_t>(length));
  copy(offset, bytes);
  return bytes;
}

void Hdf5Bytes::damaged(const std::string& what) const {
  throw Error(ErrorKind::kCheckpoint,
              fmt::format("'{}' is damaged: {}. Take another checkpoint of the run (best.h5, last.h5, an older epoch)",
                          name_, what));
}

void Hdf5Bytes::refuse(const std::string& what) const {
  throw Error(ErrorKind::kCheckpoint, fmt::format("'{}' {}", name_, what));
}

}  // namespace dptrain::checkpoint
