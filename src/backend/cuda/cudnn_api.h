#pragma once

// The cuDNN functions of dptrain, from a library opened at the first call; the executable does not link cuDNN.
// Read-only afterwards; any thread. Only this header and cudnn_descriptor.h include cudnn.h.

#include <cudnn.h>

#include <string>

#include "core/dynamic_library.h"

namespace dptrain::backend::cuda {

struct CudnnApi {
  explicit CudnnApi(DynamicLibrary opened);

  DynamicLibrary library;
  decltype(&cudnnGetVersion) get_version;
  decltype(&cudnnGetCudartVersion) get_cudart_version;
  decltype(&cudnnGetErrorString) get_error_string;
  decltype(&cudnnGetLastErrorString) get_last_error_string;
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendExecute) execute;

  std::string version() const;  ///< "9.19.0"
};

/// Opens cuDNN at the first call. Throws Error{kDevice} if it is missing, is older than 9.8 (the first version that
/// plans without a device), or needs a newer CUDA than the driver supports.
const CudnnApi& cudnn();

/// Throws Error{kDevice} "<call>: CUDNN_STATUS_BAD_PARAM (<cuDNN's own reason>)" unless the status is success.
void check_cudnn(cudnnStatus_t status, const std::string& call);

}  // namespace dptrain::backend::cuda
