#pragma once

// What the CPU ops share of oneDNN, and the only place that knows how 2.6 and 3.x differ. Engine and stream belong to a
// CpuDevice; a Job belongs to one op. Used from the replica's thread only.
//
// Primitives divide their work by the number of threads they were made with. Two runs with the same number give the
// same bits; with another number, sums over the batch (weight gradients, split matrix products) may round otherwise.

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
  bool one_thread_sums = false;    ///< as RuntimeOptions::any_threads: sums that threads would share have one
  bool bfloat16_products = false;  ///< as RuntimeOptions
};

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

using DataType = dnnl::memory::data_type;

inline Desc desc(const Dims& dims, Tag tag, DataType type = DataType::f32) { return {dims, type, tag}; }

/// The error of the house for one of oneDNN's: "oneDNN 2.6.3, what: message (out_of_memory)".
Error device_error(std::string_view what, const dnnl::error& error);

/// Scratch memory is the caller's; with `relu`, max(x, 0) is applied to the result.
dnnl::primitive_attr attributes();

// describe<P>(dnnl, attributes, arguments...): the primitive descriptor of P, from the arguments of P::desc in 2.6
// without operation descriptor in 3.x. Empty where oneDNN has no implementation. The second form is for backward
// passes.

template <class P, class... Args>
std::optional<typename P::primitive_desc> describe(const Dnnl& dnnl, const dnnl::primitive_attr& attr,
                                                   const Args&... args);
template <class P, class Hint, class... Args>
std::optional<typename P::primitive_desc> describe_backward(const Dnnl& dnnl, const Hint& forward, const Args&... args);

/// One primitive and its tensors. The caller has a tensor in his layout and type; where the primitive wants another,
/// the Job keeps a copy in the scratch and reorders, rounding to nearest even.
class Job {
 public:
  Job(Dnnl& dnnl, dnnl::primitive primitive, const Desc& scratchpad);

  /// Reads (writes) the tensor `argument`, which the caller has as `have` and the primitive as `want`.
  void reads(int argument, const Desc& have, const Desc& want);
  /// The same, where the primitive sees the copy's bytes under other dimensions.
  void reads(int argument, const Desc& have, const Desc& copy, const Desc& seen);
  void writes(int argument, const Desc& have, const Desc& want);

  /// Bytes, aligned parts.
  std::size_t scratch() const noexcept { return scratch_; }

  using Pointer = std::pair<int, const void*>;
  /// Pointers of all tensors declared; others in the list are passed over.
  void run(std::initializer_list<Pointer> pointers, void* scratch);

 private:
  struct Tensor {
    int argument;
    bool written;
    dnnl::memory outer, inner = {};  // inner empty: no reorder
    dnnl::memory seen = {};          // the inner one under the primitive's dimensions; empty: its own
    dnnl::reorder reorder = {};
    std::size_t offset = 0;
  };

  void add(int argument, bool written, const Desc& have, const Desc& want, const Desc* seen = nullptr);
  std::size_t take(std::size_t bytes);

  Dnnl* dnnl_;  // of the device
  dnnl::primitive primitive_;
  std::vector<Tensor> tensors_;
  std::unordered_map<int, dnnl::memory> arguments_;  // what the primitive is executed with
  dnnl::memory scratchpad_;
  std::size_t scratchpad_offset_ = 0;
  std::size_t scratch_ = 0;
};

namespace detail {

/// f(), or nothing where oneDNN says that it has no implementation.
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

/// While one lives, oneDNN has the calling thread alone: sums that it would cut among its threads then do not depend on
/// their number. Primitives are to be made and run under the same.
class OneDnnlThread {
 public:
  explicit OneDnnlThread(bool on);
  ~OneDnnlThread();
  OneDnnlThread(const OneDnnlThread&) = delete;
  OneDnnlThread& operator=(const OneDnnlThread&) = delete;

 private:
  bool before_;
};

// Products of bfloat16, as train.dtype_policy: mixed_bfloat16 computes them on CPUs: factors are rounded to bfloat16,
// to nearest even, sums are float32, and everything in memory stays float32. Any thread.

/// The instructions by which oneDNN multiplies bfloat16.
enum class Bfloat16 { kNone, kAvx512, kAmx };

/// What an instruction set of oneDNN's has.
Bfloat16 bfloat16_of(dnnl::cpu_isa isa);
/// What this processor has and ONEDNN_MAX_CPU_ISA leaves.
Bfloat16 bfloat16_here();
/// "AMX", "AVX-512 BF16", "none".
const char* name_of(Bfloat16 instructions);

/// Throws Error{kDevice} where there are none.
void require_bfloat16(Bfloat16 instructions);

}  // namespace dptrain::backend::cpu
