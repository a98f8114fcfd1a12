#pragma once

// Computations of the substitutes for NCCL, on plain pointers.

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "distributed/nccl_api.h"
#include "runtime/toy_device.h"

namespace dptrain::test {

template <class T, class FromFloat, class ToFloat>
void add_ranks(const std::vector<const void*>& in, const std::vector<void*>& out, std::size_t n, FromFloat from_float,
               ToFloat to_float) {
  for (std::size_t i = 0; i < n; ++i) {
    T sum = static_cast<const T*>(in[0])[i];
    for (std::size_t r = 1; r < in.size(); ++r)
      sum = from_float(to_float(sum) + to_float(static_cast<const T*>(in[r])[i]));
    for (void* each : out) static_cast<T*>(each)[i] = sum;
  }
}

/// Adds in the order of the ranks; with bfloat16 it rounds each sum of two. `type`: kFloat32 or kBfloat16.
inline void all_reduce_of(const std::vector<const void*>& in, const std::vector<void*>& out, std::size_t n, int type) {
  if (type == distributed::nccl::kBfloat16)
    add_ranks<std::uint16_t>(in, out, n, bf16_of, float_of_bf16);
  else
    add_ranks<float>(in, out, n, std::identity{}, std::identity{});
}

inline void all_gather_of(const std::vector<const void*>& in, const std::vector<void*>& out, std::size_t bytes) {
  for (void* each : out)
    for (std::size_t r = 0; r < in.size(); ++r) std::memcpy(static_cast<char*>(each) + r * bytes, in[r], bytes);
}

}  // namespace dptrain::test
