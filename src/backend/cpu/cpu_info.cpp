// Properties of the processor, for `dptrain devices` and for limits of the kernels.

#include <oneapi/dnnl/dnnl.hpp>

#include <fstream>
#include <string>

#include "backend/conv_choices.h"
#include "backend/cpu/cpu_device.h"
#include "backend/cpu/dnnl_support.h"
#include "backend/device.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/quantity.h"
#include "kernels/cpu/isa.h"

namespace dptrain::backend {
namespace {

/// Value of the first "model name : ..." line; "CPU" where there is none (ARM).
std::string model_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (const auto colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
  return "CPU";
}

}  // namespace

std::vector<DeviceInfo> list_cpu() {
  DeviceInfo info;
  info.id = "cpu";
  info.name = model_name();
  info.cores = machine::cpus();
  info.memory_bytes = machine::memory().total;
  info.peak_gflops = kernels::cpu::measure_fma_peak_gflops();
  if (const cpu::Bfloat16 instructions = cpu::bfloat16_here(); instructions != cpu::Bfloat16::kNone)
    info.bfloat16 = cpu::name_of(instructions);
  info.details =
      fmt::format("{}, {}, {:.1f} GiB{}, {:.0f} GFLOP/s a core (fp32 FMA, measured), {}", counted(info.cores, "core"),
                  kernels::cpu::isa_name(), static_cast<double>(info.memory_bytes) / (1 << 30),
                  machine::has_huge_pages() ? "" : " without huge pages", info.peak_gflops,
                  info.bfloat16.empty() ? "no bfloat16 products" : "bfloat16 products by " + info.bfloat16);
  return {info};
}

void limit_cpu_isa() {
  using kernels::cpu::IsaLimit;
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
    case dnnl::cpu_isa::avx: return kernels::cpu::limit_isa(IsaLimit::kSse4);
    case dnnl::cpu_isa::avx2:
    case dnnl::cpu_isa::avx2_vnni: return kernels::cpu::limit_isa(IsaLimit::kAvx2);
    default: return;
  }
}

std::string cpu_identity() { return fmt::format("{}, {}", model_name(), kernels::cpu::isa_name()); }

std::uint64_t cpu_memory_available() { return machine::memory().available; }

}  // namespace dptrain::backend
