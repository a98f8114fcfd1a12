#include "backend/cuda/cuda_error.h"

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {
namespace {

/// Errors after which every later call on that device fails. Kernels and copies report them late.
bool loses_the_device(cudaError_t status) {
  switch (status) {
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure: return true;
    default: return false;
  }
}

/// Advice for the user, if the remedy is not obvious.
const char* advice(cudaError_t status) {
  switch (status) {
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidKernelImage:
    case cudaErrorUnsupportedPtxVersion:
      return "; this dptrain has no machine code for this GPU and no PTX that the driver can compile: update the "
             "driver, or build with CMAKE_CUDA_ARCHITECTURES for the GPU";
    default: return "";
  }
}

}  // namespace

std::string cuda_message(cudaError_t status) {
  return fmt::format("{} ({})", cudaGetErrorString(status), static_cast<int>(status));
}

int driver_version() {
  int version = 0;
  return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

void check_cuda(cudaError_t status, const char* call, const std::string& where) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears recoverable errors, which the next kernel launch would report otherwise
  throw Error(
      ErrorKind::kDevice,
      fmt::format("{}: {}: {}{}{}", where, call, cuda_message(status), advice(status),
                  loses_the_device(status) ? ", by this call or by work queued before it; the device is lost to this "
                                             "process (CUDA_LAUNCH_BLOCKING=1 shows which)"
                                           : ""));
}

}  // namespace dptrain::backend::cuda
