#include "backend/cpu/dnnl_support.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cpu {
namespace {

constexpr std::size_t kAlignBytes = 64;

/// Whether `isa` includes `part`; oneDNN has a bit for each set of instructions.
bool has(dnnl::cpu_isa isa, dnnl::cpu_isa part) {
  const auto bits = [](dnnl::cpu_isa one) { return static_cast<unsigned>(one); };
  return (bits(isa) & bits(part)) == bits(part);
}

}  // namespace

Error device_error(std::string_view what, const dnnl::error& error) {
  const dnnl_version_t& version = *dnnl_version();
  return {error.status == dnnl_out_of_memory ? ErrorKind::kMemory : ErrorKind::kDevice,
          fmt::format("oneDNN {}.{}.{}, {}: {} ({})", version.major, version.minor, version.patch, what, error.what(),
                      dnnl_status2str(error.status))};
}

dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

Job::Job(Dnnl& dnnl, dnnl::primitive primitive, const Desc& scratchpad)
    : dnnl_(&dnnl), primitive_(std::move(primitive)), scratchpad_(scratchpad, dnnl.engine, DNNL_MEMORY_NONE) {
  scratchpad_offset_ = take(scratchpad.get_size());
  arguments_.emplace(DNNL_ARG_SCRATCHPAD, scratchpad_);
}

std::size_t Job::take(std::size_t bytes) {
  const std::size_t offset = scratch_;
  scratch_ += (bytes + kAlignBytes - 1) / kAlignBytes * kAlignBytes;
  return offset;
}

void Job::reads(int argument, const Desc& have, const Desc& required) { add(argument, false, have, required); }
void Job::reads(int argument, const Desc& have, const Desc& copy, const Desc& seen) {
  add(argument, false, have, copy, &seen);
}
void Job::writes(int argument, const Desc& have, const Desc& required) { add(argument, true, have, required); }

void Job::add(int argument, bool written, const Desc& have, const Desc& required, const Desc* seen) try {
  Tensor tensor{.argument = argument, .written = written, .outer = {have, dnnl_->engine, DNNL_MEMORY_NONE}};
  if (have != required) {
    tensor.inner = dnnl::memory(required, dnnl_->engine, DNNL_MEMORY_NONE);
    tensor.offset = take(required.get_size());
    const auto& [from, to] = written ? std::tie(tensor.inner, tensor.outer) : std::tie(tensor.outer, tensor.inner);
    tensor.reorder = dnnl::reorder(dnnl::reorder::primitive_desc(from, to));
  }
  if (seen != nullptr) tensor.seen = dnnl::memory(*seen, dnnl_->engine, DNNL_MEMORY_NONE);
  arguments_.insert_or_assign(argument, tensor.seen ? tensor.seen : tensor.inner ? tensor.inner : tensor.outer);
  tensors_.push_back(std::move(tensor));
} catch (const dnnl::error& error) {
  throw device_error("reorder", error);
}

void Job::run(std::initializer_list<Pointer> pointers, void* scratch) try {
  auto* const scratch_bytes = static_cast<std::byte*>(scratch);
  scratchpad_.set_data_handle(scratch_bytes + scratchpad_offset_);
  for (Tensor& tensor : tensors_) {
    for (const auto& [argument, data] : pointers)
      if (argument == tensor.argument) tensor.outer.set_data_handle(const_cast<void*>(data));  // oneDNN takes no const
    if (!tensor.inner) continue;
    tensor.inner.set_data_handle(scratch_bytes + tensor.offset);
    if (tensor.seen) tensor.seen.set_data_handle(scratch_bytes + tensor.offset);
    if (!tensor.written) tensor.reorder.execute(dnnl_->stream, tensor.outer, tensor.inner);
  }
  primitive_.execute(dnnl_->stream, arguments_);
  for (Tensor& tensor : tensors_)
    if (tensor.inner && tensor.written) tensor.reorder.execute(dnnl_->stream, tensor.inner, tensor.outer);
  dnnl_->stream.wait();
} catch (const dnnl::error& error) {
  throw device_error("execution", error);
}

Bfloat16 bfloat16_of(dnnl::cpu_isa isa) {
  if (has(isa, dnnl::cpu_isa::avx512_core_amx)) return Bfloat16::kAmx;
  return has(isa, dnnl::cpu_isa::avx512_core_bf16) ? Bfloat16::kAvx512 : Bfloat16::kNone;
}

Bfloat16 bfloat16_here() { return bfloat16_of(dnnl::get_effective_cpu_isa()); }

const char* name_of(Bfloat16 instructions) {
  switch (instructions) {
    case Bfloat16::kNone: return "none";
    case Bfloat16::kAvx512: return "AVX-512 BF16";
    case Bfloat16::kAmx: return "AMX";
  }
  return "";
}

void require_bfloat16(Bfloat16 instructions) {
  if (instructions == Bfloat16::kNone)
    throw Error(ErrorKind::kDevice,
                "cpu cannot run train.dtype_policy mixed_bfloat16: it needs AMX or AVX-512 BF16, which this processor "
                "does not have or ONEDNN_MAX_CPU_ISA disables; use float32, or a GPU");
}

}  // namespace dptrain::backend::cpu
