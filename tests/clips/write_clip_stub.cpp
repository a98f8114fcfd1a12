#include <stdexcept>

#include "clips/write_clip.h"

namespace dptrain::test {

bool can_write_clips() { return false; }

void write_clip(const std::string& path, const MadeClip&, const ClipKind&) {
  throw std::runtime_error(path + ": no clip can be written without FFmpeg's headers");
}

}  // namespace dptrain::test
