#pragma once

// PixelPass: computes batches for one input of a model on the device, from samples of a data set. Kinds of devices
// without a registered factory (the CPU) receive batches from the loader. Used from the replica's thread.

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/device.h"
#include "core/dtype.h"
#include "kernels/pixel_program.h"

namespace dptrain::backend {

struct PixelPassContext {
  const kernels::PixelProgram& program;
  DType type = DType::kU8;      ///< type of the samples: kU8 or kF32
  DType compute = DType::kF32;  ///< type of the result
  std::int64_t rows = 0;        ///< maximum number of rows of a batch
};

/// Pointers are device memory.
struct PixelArgs {
  const void* in = nullptr;               ///< [any, ...]
  const std::int64_t* samples = nullptr;  ///< [rows]: numbers in the data set
  bool gather = false;                    ///< row i is in[samples[i]], else in[i]
  std::int64_t epoch = 0;
  std::int64_t rows = 0;
  void* out = nullptr;  ///< [rows, ...]
  Stream* stream = nullptr;
};

class PixelPass {
 public:
  virtual ~PixelPass() = default;
  /// Queued; one stream for all calls, because they share a workspace.
  virtual void run(const PixelArgs& args) = 0;
  virtual std::size_t bytes() const = 0;  ///< size of its device memory
};

using PixelPassFactory = std::function<std::unique_ptr<PixelPass>(const PixelPassContext&, Device&)>;

/// Table by device kind, filled before main.
struct RegisteredPixelPass {
  RegisteredPixelPass(DeviceKind kind, PixelPassFactory factory);
};
bool has_pixel_pass(DeviceKind kind);
/// Throws Error{kInternal} if the kind of device has none.
std::unique_ptr<PixelPass> make_pixel_pass(const PixelPassContext& context, Device& device);

}  // namespace dptrain::backend
