#pragma once

// The GPU device's runtime on the CPU: the emulated GPUs "emu:0", "emu:1", ... Kernels are those of kernels/cuda, run
// by simt.h; streams are queues whose order is drawn at random (emu_scheduler.h). It forgives nothing that CUDA does
// not:
//
//   - copies from and to page-locked memory happen when the stream comes to them; copies out, to pageable memory, too
//   - kernels go into a stream of the device that the thread has entered
//   - a failed operation makes every later synchronize and idle of its device fail
//   - a recording must be joined, and forbids allocation, synchronisation and copies of pageable memory in its thread
//   - memory that is still allocated when the Runtime ends is left to LeakSanitizer
//
// DPTRAIN_EMU_SEED draws the orders, DPTRAIN_EMU_MEMORY is the bytes of memory that every device pretends to have.

#include <cstdint>
#include <functional>
#include <memory>

#include "backend/gpu/runtime.h"

namespace dptrain::backend::emu {

/// The emulated GPU `id`: one object per id in the process, shared by whoever asks while it lives.
std::shared_ptr<gpu::Runtime> make_emu_runtime(int id);

/// Draws all orders from `seed` from now on, instead of DPTRAIN_EMU_SEED. For tests.
void reseed(std::uint64_t seed);

/// Queues `work` on the stream as a kernel; what comes behind it runs when `ready` says so, as behind a kernel that
/// waits for other GPUs. A recording takes both in. `ready` is asked again and again, under a lock: it calls nothing of
/// the emulator. For stand-ins of libraries.
void push_and_wait(gpu::StreamHandle stream, const char* name, std::function<void()> work, std::function<bool()> ready);
/// Whether what is queued on the stream is recorded.
bool is_recorded(gpu::StreamHandle stream);

/// How often threads have waited for the emulated GPUs of this process: for all of a stream, or for an event of it. For
/// tests.
struct HostWaits {
  std::uint64_t streams = 0, events = 0;
};
HostWaits host_waits();

}  // namespace dptrain::backend::emu
