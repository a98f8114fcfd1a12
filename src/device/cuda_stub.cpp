// Stands for device/cuda/ in a build without CUDA.

#include "core/error.h"
#include "core/format.h"
#include "device/device.h"
#include "dptrain_version.h"

namespace dptrain::device {

std::vector<DeviceInfo> list_cuda() { return {}; }

std::unique_ptr<Device> make_cuda_device(int, const RuntimeOptions&) {
  throw Error(ErrorKind::kDevice, fmt::format("this dptrain has no GPU backend (cuda: {}); use --cpus N, or --gpus none", kBuiltWithCuda));
}

}  // namespace dptrain::device
