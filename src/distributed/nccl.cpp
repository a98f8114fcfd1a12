// Checks the declarations of nccl_api.h against nccl.h where it is installed (cmake/Backends.cmake). No code.

#include <nccl.h>

#include <cstddef>
#include <type_traits>

#include "distributed/nccl_api.h"

namespace dptrain::distributed::nccl {
namespace {

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId) && std::is_trivially_copyable_v<UniqueId>);
static_assert(sizeof(Result) == sizeof(ncclResult_t) && sizeof(int) == sizeof(ncclDataType_t) &&
              sizeof(int) == sizeof(ncclRedOp_t));
static_assert(kSuccess == ncclSuccess && kRemoteError == ncclRemoteError && kInProgress == ncclInProgress);
static_assert(kInt8 == ncclInt8 && kFloat32 == ncclFloat32 && kBfloat16 == ncclBfloat16 && kSum == ncclSum);

// Other versions may have more or fewer members at the end. Members that both have must have the same offset.
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
static_assert(sizeof(ncclConfig_t) >= sizeof(Config));
static_assert(offsetof(Config, nvlink_centric_sched) == offsetof(ncclConfig_t, nvlinkCentricSched));
static_assert(offsetof(Config, nvls_ctas) == offsetof(ncclConfig_t, nvlsCTAs));
#endif
static_assert(offsetof(Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(offsetof(Config, net_name) == offsetof(ncclConfig_t, netName));
static_assert(offsetof(Config, split_share) == offsetof(ncclConfig_t, splitShare));
static_assert(NCCL_CONFIG_UNDEF_INT == INT_MIN);

}  // namespace
}  // namespace dptrain::distributed::nccl
