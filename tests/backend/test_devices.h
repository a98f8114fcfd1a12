#pragma once

// Devices of the tests in this folder: the CPU with one and with three threads, the emulator, and a GPU if present.
// DPTRAIN_TEST_DEVICES=cpu,emu,cuda selects them (default: all; without cpu under ThreadSanitizer). The last line of
// the program reports how many tests found no GPU; with DPTRAIN_REQUIRE_DEVICES=cuda they fail instead.

#include <memory>
#include <vector>

#include "backend/device.h"

namespace dptrain::test {

using Devices = std::vector<std::unique_ptr<backend::Device>>;

/// All devices that support `options.compute` (16 bits: GPUs only), CPUs first. options.tf32 is off: float32 products
/// are not rounded.
Devices devices(backend::RuntimeOptions options = {});

/// The emulator and, if present, the GPU.
Devices gpus(backend::RuntimeOptions options = {});

/// Draws new execution orders of the emulator from the run's seed and the number of previous draws. Each run of a test
/// has its own order, and each start of the program repeats them.
void shuffle();

}  // namespace dptrain::test
