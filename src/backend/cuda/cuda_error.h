#pragma once

// Checks of CUDA runtime calls. Any thread.

#include <cuda_runtime_api.h>

#include <string>

namespace dptrain::backend::cuda {

/// "out of memory (2)"
std::string cuda_message(cudaError_t status);

/// Throws Error{kDevice} "<where>: <call>: out of memory (2)" unless the status is success; where: "gpu:0". For errors
/// after which the device is unusable, the message adds that earlier work may have caused them.
void check_cuda(cudaError_t status, const char* call, const std::string& where);

/// The newest CUDA version that the driver supports, 12040 for 12.4; 0 without a driver.
int driver_version();

}  // namespace dptrain::backend::cuda
