#pragma once

// Asking for memory before it is read.

namespace dptrain {

/// The calling core fetches the cache line if it has not got it. GCC takes a function that does nothing else for one
/// without effects and leaves out calls and loops of it; the empty statement keeps them.
inline void prefetch(const void* memory) {
  __builtin_prefetch(memory);
  asm volatile("" : : "r"(memory));
}

}  // namespace dptrain
