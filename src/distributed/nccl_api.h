#pragma once

// Table of the NCCL functions that dptrain calls. The library is loaded on first use, so the executable does not link
// NCCL and tests can supply their own functions. The C types are declared here with the layout of nccl.h (checked in
// nccl.cpp), so no CUDA header is needed. A filled table is read-only; any thread.

#include <climits>
#include <cstddef>
#include <functional>
#include <string>

namespace dptrain::distributed::nccl {

using Handle = void*;  ///< ncclComm_t

struct UniqueId {
  char internal[128];
};

/// ncclResult_t; only the values that dptrain distinguishes.
using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr Result kRemoteError = 6;
inline constexpr Result kInProgress = 7;

inline constexpr int kInt8 = 0;     ///< ncclDataType_t
inline constexpr int kFloat32 = 7;  ///< ncclDataType_t
inline constexpr int kBfloat16 = 9;
inline constexpr int kSum = 0;  ///< ncclRedOp_t

/// ncclConfig_t of NCCL 2.28. A library reads at most `size` bytes. Most members stay undefined (INT_MIN).
struct Config {
  std::size_t size = sizeof(Config);
  unsigned int magic = 0xcafebeef;
  unsigned int version = 22809;
  int blocking = 0;
  int cga_cluster_size = INT_MIN;
  int min_ctas = INT_MIN;
  int max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char* comm_name = nullptr;
  int collnet_enable = INT_MIN;
  int cta_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_ctas = INT_MIN;
  int n_channels_per_net_peer = INT_MIN;
  int nvlink_centric_sched = INT_MIN;
};

struct Api {
  std::function<Result(int* version)> get_version;
  std::function<Result(UniqueId* id)> get_unique_id;
  std::function<Result(Handle* comm, int ranks, UniqueId id, int rank, Config* config)> init_rank;
  std::function<Result(Handle comm)> finalize, destroy, abort;
  std::function<Result(Handle comm, Result* state)> get_async_error;
  std::function<const char*(Result)> error_string;
  std::function<const char*(Handle comm)> last_error;
  std::function<Result(const void* send, void* receive, std::size_t count, int type, int operation, Handle comm,
                       void* stream)>
      all_reduce;
  std::function<Result(const void* send, void* receive, std::size_t count, int type, Handle comm, void* stream)>
      all_gather;
};

/// Loads libnccl.so.2 (search order: DynamicLibrary) and keeps it open until the process ends. Throws Error{kDevice} if
/// it is missing or too old.
const Api& library();
/// As library(), from any file.
Api open_library(const std::string& file);

}  // namespace dptrain::distributed::nccl
