#include "distributed/nccl_api.h"

#include "backend/cuda_versions.h"
#include "backend/gpu_facts.h"
#include "core/dynamic_library.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::distributed::nccl {
namespace {

/// First version with non-blocking communicators and ncclGetLastError.
constexpr int kOldestVersion = 21403;

std::string version_text(int number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace

Api open_library(const std::string& file) {
  const DynamicLibrary library({"NCCL", {file}, backend::nccl_package(backend::built_in_cuda()), "use one GPU"});
  Api api;
  api.get_version = library.function<Result (*)(int*)>("ncclGetVersion");
  api.get_unique_id = library.function<Result (*)(UniqueId*)>("ncclGetUniqueId");
  api.init_rank = library.function<Result (*)(Handle*, int, UniqueId, int, Config*)>("ncclCommInitRankConfig");
  api.finalize = library.function<Result (*)(Handle)>("ncclCommFinalize");
  api.destroy = library.function<Result (*)(Handle)>("ncclCommDestroy");
  api.abort = library.function<Result (*)(Handle)>("ncclCommAbort");
  api.get_async_error = library.function<Result (*)(Handle, Result*)>("ncclCommGetAsyncError");
  api.error_string = library.function<const char* (*)(Result)>("ncclGetErrorString");
  api.last_error = library.function<const char* (*)(Handle)>("ncclGetLastError");
  api.all_reduce =
      library.function<Result (*)(const void*, void*, std::size_t, int, int, Handle, void*)>("ncclAllReduce");
  api.all_gather = library.function<Result (*)(const void*, void*, std::size_t, int, Handle, void*)>("ncclAllGather");
  int version = 0;
  if (api.get_version(&version) != kSuccess || version < kOldestVersion)
    throw Error(ErrorKind::kDevice,
                fmt::format("{} is version {}, expected {} or newer; install {}", file, version_text(version),
                            version_text(kOldestVersion), backend::nccl_package(backend::built_in_cuda())));
  return api;
}

const Api& library() {
  static const Api api = open_library("libnccl.so.2");
  return api;
}

}  // namespace dptrain::distributed::nccl
