#include "reduce/nccl_api.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::reduce::nccl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage = "NCCL 2 (package libnccl2, or pip's nvidia-nccl-cu13)";
/// The first with non-blocking communicators whose errors can be read: ncclGetLastError, ncclCommInitRankConfig.
constexpr int kOldestVersion = 21403;

/// Where a bundle keeps its libraries.
std::vector<fs::path> places(const std::string& file) {
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return {};
  return {folder / file, folder / "lib" / file, folder.parent_path() / "lib" / file};
}

void* open(const std::string& file) {
  if (void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* words = dlerror();
  std::string said = words == nullptr ? "no reason given" : words;
  for (const fs::path& path : places(file)) {
    std::error_code failed;
    if (!fs::exists(path, failed)) continue;
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    if (const char* reason = dlerror()) said = reason;  // of a file that is there: the better one
  }
  throw Error(ErrorKind::kDevice, fmt::format("{} cannot be opened ({}), and several GPUs need it; install {} or put its "
                                              "folder on LD_LIBRARY_PATH, or use one GPU",
                                              file, said, kPackage));
}

template <class Pointer, class Function>
void load(void* handle, const std::string& file, const char* symbol, Function& function) {
  void* found = dlsym(handle, symbol);
  if (found == nullptr)
    throw Error(ErrorKind::kDevice, fmt::format("{} has no function {}; install {}", file, symbol, kPackage));
  function = reinterpret_cast<Pointer>(found);
}

std::string version_text(int number) { return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100); }

}  // namespace

Api open_library(const std::string& file) {
  void* const handle = open(file);
  Api api;
  const auto get = [&]<class Pointer>(const char* symbol, auto& function, Pointer) {
    load<Pointer>(handle, file, symbol, function);
  };
  using OnHandle = Result (*)(Handle);
  get("ncclGetVersion", api.get_version, static_cast<Result (*)(int*)>(nullptr));
  get("ncclGetUniqueId", api.get_unique_id, static_cast<Result (*)(UniqueId*)>(nullptr));
  get("ncclCommInitRankConfig", api.init_rank, static_cast<Result (*)(Handle*, int, UniqueId, int, Config*)>(nullptr));
  get("ncclCommFinalize", api.finalize, OnHandle{});
  get("ncclCommDestroy", api.destroy, OnHandle{});
  get("ncclCommAbort", api.abort, OnHandle{});
  get("ncclCommGetAsyncError", api.get_async_error, static_cast<Result (*)(Handle, Result*)>(nullptr));
  get("ncclGetErrorString", api.error_string, static_cast<const char* (*)(Result)>(nullptr));
  get("ncclGetLastError", api.last_error, static_cast<const char* (*)(Handle)>(nullptr));
  get("ncclAllReduce", api.all_reduce,
      static_cast<Result (*)(const void*, void*, std::size_t, int, int, Handle, void*)>(nullptr));
  get("ncclAllGather", api.all_gather,
      static_cast<Result (*)(const void*, void*, std::size_t, int, Handle, void*)>(nullptr));
  int version = 0;
  if (api.get_version(&version) != kSuccess || version < kOldestVersion)
    throw Error(ErrorKind::kDevice, fmt::format("{} is version {}, expected {} or newer; install {}", file,
                                                version_text(version), version_text(kOldestVersion), kPackage));
  return api;
}

const Api& library() {
  static const Api api = open_library("libnccl.so.2");
  return api;
}

}  // namespace dptrain::reduce::nccl
