#include "checkpoint/hdf5/hdf5_bytes.h"

#include "core/format.h"

namespace dptrain::checkpoint {
namespace {

const FileVoice kCheckpointVoice{
    .cannot_open =
        [](const std::string& path, const std::string& reason) {
          return Error(ErrorKind::kCheckpoint, fmt::format("cannot open checkpoint '{}': {}", path, reason));
        },
    .damaged =
        [](const std::string& name, const std::string& what) {
          return Error(
              ErrorKind::kCheckpoint,
              fmt::format("'{}' is damaged: {}. Take another checkpoint of the run (best.h5, last.h5, an older epoch)",
                          name, what));
        },
    .refused =
        [](const std::string& name, const std::string& what) {
          return Error(ErrorKind::kCheckpoint, fmt::format("'{}' {}", name, what));
        },
};

}  // namespace

std::shared_ptr<const Hdf5Bytes> checkpoint_file(const std::string& path) {
  return Hdf5Bytes::of_file(path, kCheckpointVoice);
}

std::shared_ptr<const Hdf5Bytes> checkpoint_bytes(std::string name, std::vector<std::byte> bytes) {
  return Hdf5Bytes::of_memory(std::move(name), std::move(bytes), kCheckpointVoice);
}

}  // namespace dptrain::checkpoint
