// Replaces backend/emu/ in a build without the emulator.

#include "backend/device.h"
#include "core/error.h"

namespace dptrain::backend {

std::unique_ptr<Device> make_emu_device(int, const RuntimeOptions&) {
  throw Error(ErrorKind::kDevice,
              "this dptrain has no GPU emulator; build it with -DDPTRAIN_EMULATOR=ON, or use --cpus N");
}

}  // namespace dptrain::backend
