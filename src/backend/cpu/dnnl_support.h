#pragma once

// oneDNN for the CPU ops; only this file depends on its version (2.6 or 3.x). A Dnnl belongs to a CpuDevice, a Job to
// one op. Used from the replica's thread only.
//
// Primitives divide their work by the number of threads that they were made with. With another number, the last bits of
// sums over the batch may differ (weight gradients, split matrix products).

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/error.h"

namespace dptrain::backend::cpu {

struct Dnnl {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  bool one_thread_sums = false;    ///< as RuntimeOptions::any_threads: one thread computes each sum
  bool bfloat16_products = false;  ///< as RuntimeOptions
};

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

using DataType = dnnl::memory::data_type;

inline Desc desc(const Dims& dims, Tag tag, DataType type = DataType::f32) { return {dims, type, tag}; }

/// Error{kMemory or kDevice} for an error of oneDNN: "oneDNN 2.6.3, what: message (out_of_memory)".
Error device_error(std::string_view what, const dnnl::error& error);

/// The caller provides the scratchpad.
dnnl::primitive_attr attributes();

// The primitive descriptor of P from the arguments of P::desc (2.6). nullopt: oneDNN has no implementation. The second
// form is for backward passes.

template <class P, class... Args>
std::optional<typename P::primitive_desc> describe(const Dnnl& dnnl, const dnnl::primitive_attr& attr,
                                                   const Args&... args);
template <class P, class Hint, class... Args>
std::optional<typename P::primitive_desc> describe_backward(const Dnnl& dnnl, const Hint& forward, const Args&... args);

/// One primitive and its tensors. If the primitive requires another layout or type than the caller's, the Job reorders
/// to or from a copy in scratch, rounding to nearest even.
class Job {
 public:
  Job(Dnnl& dnnl, dnnl::primitive primitive, const Desc& scratchpad);

  /// Declares an input or output: `have` is the caller's layout, `required` the primitive's.
  void reads(int argument, const Desc& have, const Desc& required);
  /// An input whose copy the primitive reads under other dimensions, `seen`.
  void reads(int argument, const Desc& have, const Desc& copy, const Desc& seen);
  void writes(int argument, const Desc& have, const Desc& required);

  /// Bytes of scratch for run().
  std::size_t scratch() const noexcept { return scratch_; }

  using Pointer = std::pair<int, const void*>;
  /// `pointers` contains all declared tensors; others in it are ignored.
  void run(std::initializer_list<Pointer> pointers, void* scratch);

 private:
  struct Tensor {
    int argument;
    bool written;
    dnnl::memory outer, inner = {};  // inner is empty without a reorder
    dnnl::memory seen = {};          // inner under the primitive's dimensions; empty: its own
    dnnl::reorder reorder = {};
    std::size_t offset = 0;
  };

  void add(int argument, bool written, const Desc& have, const Desc& required, const Desc* seen = nullptr);
  std::size_t take(std::size_t bytes);

  Dnnl* dnnl_;  // the device's
  dnnl::primitive primitive_;
  std::vector<Tensor> tensors_;
  std::unordered_map<int, dnnl::memory> arguments_;  // for primitive_.execute()
  dnnl::memory scratchpad_;
  std::size_t scratchpad_offset_ = 0;
  std::size_t scratch_ = 0;
};

namespace detail {

/// f(), or nullopt if oneDNN has no implementation.
template <class F>
auto unless_unimplemented(F&& f) -> std::optional<decltype(f())> {
  try {
    return f();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_unimplemented) return std::nullopt;
    throw device_error("primitive descriptor", error);
  }
}

}  // namespace detail

#if DNNL_VERSION_MAJOR >= 3

template <class P, class... Args>
std::optional<typename P::primitive_desc> describe(const Dnnl& dnnl, const dnnl::primitive_attr& attr,
                                                   const Args&... args) {
  return detail::unless_unimplemented([&] { return typename P::primitive_desc(dnnl.engine, args..., attr); });
}

template <class P, class Hint, class... Args>
std::optional<typename P::primitive_desc> describe_backward(const Dnnl& dnnl, const Hint& forward,
                                                            const Args&... args) {
  return detail::unless_unimplemented(
      [&] { return typename P::primitive_desc(dnnl.engine, args..., forward, attributes()); });
}

#else

template <class P, class... Args>
std::optional<typename P::primitive_desc> describe(const Dnnl& dnnl, const dnnl::primitive_attr& attr,
                                                   const Args&... args) {
  return detail::unless_unimplemented(
      [&] { return typename P::primitive_desc(typename P::desc(args...), attr, dnnl.engine); });
}

template <class P, class Hint, class... Args>
std::optional<typename P::primitive_desc> describe_backward(const Dnnl& dnnl, const Hint& forward,
                                                            const Args&... args) {
  return detail::unless_unimplemented(
      [&] { return typename P::primitive_desc(typename P::desc(args...), attributes(), dnnl.engine, forward); });
}

#endif

/// If `on`, oneDNN uses only the calling thread while the object exists, so that sums do not depend on the number of
/// threads. Make and run a primitive under the same setting.
class OneDnnlThread {
 public:
  explicit OneDnnlThread(bool on);
  ~OneDnnlThread();
  OneDnnlThread(const OneDnnlThread&) = delete;
  OneDnnlThread& operator=(const OneDnnlThread&) = delete;

 private:
  bool before_;
};

// Products of bfloat16 for train.dtype_policy: mixed_bfloat16 on CPUs. Factors are rounded to nearest even, sums are
// float32, and tensors in memory remain float32. Any thread.

/// Instructions with which oneDNN multiplies bfloat16.
enum class Bfloat16 { kNone, kAvx512, kAmx };

Bfloat16 bfloat16_of(dnnl::cpu_isa isa);
/// Instructions of this processor, limited by ONEDNN_MAX_CPU_ISA.
Bfloat16 bfloat16_here();
/// "AMX", "AVX-512 BF16", "none".
const char* name_of(Bfloat16 instructions);

/// Throws Error{kDevice} for kNone.
void require_bfloat16(Bfloat16 instructions);

}  // namespace dptrain::backend::cpu
