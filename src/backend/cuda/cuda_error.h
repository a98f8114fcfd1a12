#pragma once

// Checks of CUDA runtime calls. Any thread.

#include <cuda_runtime_api.h>

#include <string>

namespace dptrain::backend::cuda {

/// "out of memory (2)"
std::string cuda_words(cudaError_t status);

/// Throws Error{kDevice} "<where>: <call>: out of memory (2)" unless the status is success; where: "gpu:0". A fault of
/// work queued earlier that surfaces here and has lost the device is said to be that.
void check_cuda(cudaError_t status, const char* call, const std::string& where);

/// The newest CUDA that the driver runs, 12040 for 12.4; 0 where there is no driver.
int driver_version();

}  // namespace dptrain::backend::cuda
