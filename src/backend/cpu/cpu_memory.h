#pragma once

// Memory of a CPU device, straight from the system. A Buffer belongs to whoever asked for it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/device.h"

namespace dptrain::backend::cpu {

/// Zero-filled and touched by the calling thread. Throws Error{kMemory}; `device` is named in it.
std::unique_ptr<Buffer> allocate_memory(std::size_t bytes, const std::string& device);

}  // namespace dptrain::backend::cpu
