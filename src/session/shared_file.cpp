#include "session/shared_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::session {
namespace {

/// Largest message.
constexpr std::size_t kBlockBytes = std::size_t{64} << 20;

std::string block_of(std::ifstream& file, const std::string& path) {
  std::string block(kBlockBytes, '\0');
  file.read(block.data(), static_cast<std::streamsize>(block.size()));
  if (file.bad())
    throw Error(ErrorKind::kCheckpoint, fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  block.resize(static_cast<std::size_t>(file.gcount()));
  return block;
}

}  // namespace

SharedFile::SharedFile(distributed::Processes* processes, const std::string& path) : path_(path) {
  if (processes == nullptr) return;
  const std::string name = processes->broadcast(path);
  path_ = name;
  if (name.empty()) return;
  std::ifstream file;
  if (processes->is_first()) {
    file.open(path, std::ios::binary);
    if (!file) throw Error(ErrorKind::kCheckpoint, fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  } else {
    memory_ = memfd_create("dptrain", MFD_CLOEXEC);
    if (memory_ < 0)
      throw Error(ErrorKind::kMemory, fmt::format("not enough memory for {}: {}", name, std::strerror(errno)));
    path_ = fmt::format("/proc/self/fd/{}", memory_);
  }
  while (true) {
    const std::string block = processes->broadcast(processes->is_first() ? block_of(file, path) : "");
    if (block.empty()) return;
    for (std::size_t done = 0; memory_ >= 0 && done < block.size();) {
      const ssize_t written = write(memory_, block.data() + done, block.size() - done);
      if (written < 0)
        throw Error(ErrorKind::kMemory, fmt::format("not enough memory for {}: {}", name, std::strerror(errno)));
      done += static_cast<std::size_t>(written);
    }
  }
}

SharedFile::~SharedFile() {
  if (memory_ >= 0) close(memory_);
}

}  // namespace dptrain::session
