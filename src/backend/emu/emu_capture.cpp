#include "backend/emu/emu_capture.h"

#include "core/format.h"

namespace dptrain::backend::emu {

std::size_t Capture::join(EmuStream& stream) {
  branches_.push_back({&stream.device(), {}});
  return branches_.size() - 1;
}

void Capture::close() {
  closed_ = true;
  if (!invalid_reason_.empty()) throw Error(ErrorKind::kDevice, invalid_reason_);

  // The number of operations of each branch that must be finished when the first branch is.
  std::vector<std::size_t> over(branches_.size(), 0);
  over[0] = branches_[0].operations.size();
  for (bool grown = true; grown;) {
    grown = false;
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      for (std::size_t i = 0; i < over[b]; ++i) {
        const Mark* mark = branches_[b].operations[i].awaits.get();
        if (mark == nullptr || over[mark->branch] > mark->index) continue;
        over[mark->branch] = mark->index + 1;
        grown = true;
      }
    }
  }
  for (std::size_t b = 0; b < branches_.size(); ++b) {
    const std::vector<Operation>& operations = branches_[b].operations;
    for (std::size_t i = over[b]; i < operations.size(); ++i) {
      if (!operations[i].work && !operations[i].ready) continue;
      throw Error(ErrorKind::kDevice,
                  fmt::format("recording ended with work in another stream that nothing waits for: '{}' on {}; let the "
                              "recorded stream wait for an event recorded after it",
                              operations[i].name, branches_[b].device->name));
    }
  }
}

}  // namespace dptrain::backend::emu
