#include "backend/cuda/cudnn_api.h"

#include <cuda_runtime_api.h>

#include <array>
#include <utility>

#include "backend/cuda/cuda_error.h"
#include "backend/cuda_versions.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {
namespace {

constexpr std::size_t kOldestVersion = 90800;  // CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR

const LibraryName kLibrary{"cuDNN", {"libcudnn.so.9"}, cudnn_package(CUDART_VERSION)};

}  // namespace

#define DPTRAIN_CUDNN_FUNCTION(name) library.function<decltype(&name)>(#name)

CudnnApi::CudnnApi(DynamicLibrary opened)
    : library(std::move(opened)),
      get_version(DPTRAIN_CUDNN_FUNCTION(cudnnGetVersion)),
      get_cudart_version(DPTRAIN_CUDNN_FUNCTION(cudnnGetCudartVersion)),
      get_error_string(DPTRAIN_CUDNN_FUNCTION(cudnnGetErrorString)),
      get_last_error_string(DPTRAIN_CUDNN_FUNCTION(cudnnGetLastErrorString)),
      create(DPTRAIN_CUDNN_FUNCTION(cudnnCreate)),
      destroy(DPTRAIN_CUDNN_FUNCTION(cudnnDestroy)),
      set_stream(DPTRAIN_CUDNN_FUNCTION(cudnnSetStream)),
      create_descriptor(DPTRAIN_CUDNN_FUNCTION(cudnnBackendCreateDescriptor)),
      destroy_descriptor(DPTRAIN_CUDNN_FUNCTION(cudnnBackendDestroyDescriptor)),
      finalize(DPTRAIN_CUDNN_FUNCTION(cudnnBackendFinalize)),
      set_attribute(DPTRAIN_CUDNN_FUNCTION(cudnnBackendSetAttribute)),
      get_attribute(DPTRAIN_CUDNN_FUNCTION(cudnnBackendGetAttribute)),
      execute(DPTRAIN_CUDNN_FUNCTION(cudnnBackendExecute)) {
  if (get_version() < kOldestVersion)
    throw Error(ErrorKind::kDevice,
                fmt::format("cuDNN at {} is version {}, expected 9.8 or newer of cuDNN 9; install {}", library.path(),
                            version(), kLibrary.package));
  if (const std::string why = why_not_this_cudnn(driver_version(), static_cast<int>(get_cudart_version()));
      !why.empty())
    throw Error(ErrorKind::kDevice, fmt::format("cuDNN at {} {}; install {}", library.path(), why, kLibrary.package));
}

#undef DPTRAIN_CUDNN_FUNCTION

std::string CudnnApi::version() const {
  const std::size_t number = get_version();  // 91900: 9.19.0
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

const CudnnApi& cudnn() {
  static const CudnnApi api{DynamicLibrary(kLibrary)};
  return api;
}

void check_cudnn(cudnnStatus_t status, const std::string& call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 1024> reason{};
  cudnn().get_last_error_string(reason.data(), reason.size() - 1);
  throw Error(ErrorKind::kDevice,
              fmt::format("{}: {}{}{}{}", call, cudnn().get_error_string(status), reason[0] == '\0' ? "" : " (",
                          reason.data(), reason[0] == '\0' ? "" : ")"));
}

}  // namespace dptrain::backend::cuda
