#pragma once

// The GPU device's runtime on the CPU: the emulated GPUs "emu:0", "emu:1", ... It runs the kernels of kernels/cuda with
// simt.h. Streams are queues that run in random order (emu_scheduler.h). It is as strict as CUDA:
//
// - copies from and to page-locked memory, and copies out to pageable memory, happen when the stream reaches them.
// - kernels must be queued on a stream of the device that the thread has entered.
// - after a failed operation every synchronize and idle of its device fails.
// - a recording must be joined; allocation, synchronization and copies of pageable memory are forbidden in its thread.
// - memory that is still allocated when the Runtime is destroyed is left to LeakSanitizer.
//
// DPTRAIN_EMU_SEED seeds the order, DPTRAIN_EMU_MEMORY is the memory of every device in bytes.

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::emu {

/// The emulated GPU `id`. The process has one object per id, which callers share.
std::shared_ptr<gpu::Runtime> make_emu_runtime(int id);

/// Reseeds the order of all streams, in place of DPTRAIN_EMU_SEED. For tests.
void reseed(std::uint64_t seed);

/// Queues `work` on the stream as a kernel, after which later operations wait until `ready` returns true. Can be
/// recorded. `ready` is polled under a lock and must not call the emulator. For substitutes of libraries.
void push_and_wait(gpu::StreamHandle stream, const char* name, std::function<void()> work, std::function<bool()> ready);
bool is_recorded(gpu::StreamHandle stream);

/// Ids of the emulated GPUs whose memory `runtime` was allowed to access. For tests.
std::set<int> peers_of(const gpu::Runtime& runtime);
/// Whether emulated GPUs can access each other's memory (initially true). For tests.
void allow_peer_access(bool possible);

/// Number of host waits for emulated GPUs in this process, by streams and by events. For tests.
struct HostWaits {
  std::uint64_t streams = 0, events = 0;
};
HostWaits host_waits();

/// Whether an operation of push_and_wait is queued or waits for `ready`. For tests.
bool is_collective_pending();
/// Returns and clears the calls that allocated or freed memory meanwhile, such as "emu:1: free_host". On GPUs such a
/// call may wait for the collective, and a rank that has not yet queued it may wait for the call. For tests.
std::vector<std::string> take_blocking_calls();

}  // namespace dptrain::backend::emu
