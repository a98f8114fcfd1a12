#pragma once

// From the `int` that counts steps, tensors and ranks to the type that the standard library's containers want. Any
// thread.

#include <cstddef>

namespace dptrain {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace dptrain
