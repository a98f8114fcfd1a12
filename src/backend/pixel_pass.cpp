#include "backend/pixel_pass.h"

#include <map>

#include "core/error.h"

namespace dptrain::backend {
namespace {

std::map<DeviceKind, PixelPassFactory>& table() {
  static std::map<DeviceKind, PixelPassFactory> factories;
  return factories;
}

}  // namespace

RegisteredPixelPass::RegisteredPixelPass(DeviceKind kind, PixelPassFactory factory) {
  table()[kind] = std::move(factory);
}

bool has_pixel_pass(DeviceKind kind) { return table().contains(kind); }

std::unique_ptr<PixelPass> make_pixel_pass(const PixelPassContext& context, Device& device) {
  const auto found = table().find(device.kind());
  if (found == table().end()) throw Error(ErrorKind::kInternal, device.name() + " makes no batches of its own");
  return found->second(context, device);
}

}  // namespace dptrain::backend
