#pragma once

// Runs a PixelProgram over rows of bytes or floats, picked by index or in order; the result has any number type. Random
// numbers are those of the CPU (data/transforms/draws.h), a function of (seed, transform, epoch, sample).

#include <cstdint>

#include "core/dtype.h"
#include "kernels/cuda/launch.h"
#include "kernels/pixel_program.h"

namespace dptrain::kernels::DPTRAIN_BACKEND {

struct PixelBatch {
  const void* in = nullptr;               ///< [any, height, width, channels]
  DType type = DType::kU8;                ///< of `in`: kU8 or kF32
  const std::int64_t* samples = nullptr;  ///< [rows]: indices in the data set, keys of the random numbers
  bool gather = false;                    ///< row i of the batch is in[samples[i]], else in[i]
  std::uint32_t epoch = 0;
  std::int64_t rows = 0;
};

/// Bytes of workspace for batches of up to `rows` rows.
std::int64_t pixels_workspace(const PixelProgram& program, std::int64_t rows);

/// out: [rows, out_height, out_width, channels] of `type`. The workspace is aligned to 16 bytes.
void run_pixels(const Launch& at, const PixelProgram& program, const PixelBatch& batch, void* workspace, DType type,
                void* out);

}  // namespace dptrain::kernels::DPTRAIN_BACKEND
