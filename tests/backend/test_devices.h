#pragma once

// Which devices the tests of this folder judge: the CPU with one and with three threads, the emulator, and a GPU where
// there is one. DPTRAIN_TEST_DEVICES=cpu,emu,cuda names them, all by default. A test that would have run on a GPU and
// met none is counted, and the program's last line says how many; DPTRAIN_REQUIRE_DEVICES=cuda makes them fail instead.

#include <memory>
#include <vector>

#include "backend/device.h"

namespace dptrain::test {

using Devices = std::vector<std::unique_ptr<backend::Device>>;

/// All that compute in `options.compute`: in 16 bits, only GPUs do. float32 products are never rounded (options.tf32 is
/// off). CPUs come first.
Devices devices(backend::RuntimeOptions options = {});

/// The emulator and, where there is one, the GPU: for what only they have.
Devices gpus(backend::RuntimeOptions options = {});

/// Draws the emulator's orders anew, from the seed of the run and the number of draws before: so that each run of a
/// test has its own order, and every start of the program the same ones.
void shuffle();

}  // namespace dptrain::test
