// Stands for device/emu/ in a build without the emulator.

#include "core/error.h"
#include "device/device.h"

namespace dptrain::device {

std::unique_ptr<Device> make_emu_device(int, const RuntimeOptions&) {
  throw Error(ErrorKind::kDevice,
              "this dptrain has no GPU emulator; build it with -DDPTRAIN_EMULATOR=ON, or use --cpus N");
}

}  // namespace dptrain::device
