#pragma once

// Converts the `int` indices of steps, tensors and ranks to the index type of standard containers. Any thread.

#include <cstddef>

namespace dptrain {

constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace dptrain
