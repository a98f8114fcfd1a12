#include "core/file_bytes.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/format.h"

namespace dptrain {
namespace {

class BytesOnDisk final : public FileBytes {
 public:
  BytesOnDisk(std::string name, int fd, std::uint64_t size, const FileVoice& voice)
      : FileBytes(std::move(name), size, voice), fd_(fd) {}
  BytesOnDisk(const BytesOnDisk&) = delete;
  BytesOnDisk& operator=(const BytesOnDisk&) = delete;
  ~BytesOnDisk() override { close(fd_); }

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

class BytesInMemory final : public FileBytes {
 public:
  BytesInMemory(std::string name, std::vector<std::byte> bytes, const FileVoice& voice)
      : FileBytes(std::move(name), bytes.size(), voice), bytes_(std::move(bytes)) {}

 private:
  void copy(std::uint64_t offset, std::span<std::byte> out) const override {
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }

  std::vector<std::byte> bytes_;
};

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::of_file(const std::string& path, const FileVoice& voice) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe in its place must not block
  if (fd < 0) throw voice.cannot_open(path, std::strerror(errno));       // NOLINT(concurrency-mt-unsafe)
  struct stat info {};
  const bool told = fstat(fd, &info) == 0;
  if (!told || !S_ISREG(info.st_mode)) {
    close(fd);
    throw voice.cannot_open(
        path, told && S_ISDIR(info.st_mode) ? "it is a folder; name the file in it" : "it is not a regular file");
  }
  return std::make_shared<BytesOnDisk>(path, fd, static_cast<std::uint64_t>(info.st_size), voice);
}

std::shared_ptr<const FileBytes> FileBytes::of_memory(std::string name, std::vector<std::byte> bytes,
                                                      const FileVoice& voice) {
  return std::make_shared<BytesInMemory>(std::move(name), std::move(bytes), voice);
}

void FileBytes::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (!contains(offset, out.size()))
    damaged(fmt::format("{} bytes at {} lie outside of its {} bytes", out.size(), offset, size_));
  copy(offset, out);
}

std::vector<std::byte> FileBytes::read(std::uint64_t offset, std::uint64_t length) const {
  if (!contains(offset, length))
    damaged(fmt::format("{} bytes at {} lie outside of its {} bytes", length, offset, size_));
  std::vector<std::byte> bytes(static_cast<std::size_t>(length));
  copy(offset, bytes);
  return bytes;
}

void FileBytes::damaged(const std::string& what) const { throw voice_->damaged(name_, what); }

void FileBytes::refuse(const std::string& what) const { throw voice_->refused(name_, what); }

}  // namespace dptrain
