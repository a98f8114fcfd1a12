#include "backend/cuda/plan_only_runtime.h"

#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {
namespace {

class PlanOnlyRuntime final : public gpu::Runtime {
 public:
  explicit PlanOnlyRuntime(const GpuModel& gpu) : gpu_(gpu) {}

  std::string name() const override { return std::string(gpu_.name); }
  std::string description() const override { return std::string(gpu_.description); }
  int multiprocessors() const override { return gpu_.multiprocessors; }
  gpu::MemoryInfo memory() const override { return {.total = gpu_.memory_bytes, .free = gpu_.memory_bytes}; }
  void enter() override {}
  bool enable_peer_access(gpu::Runtime&) override { refuse("peer access"); }

  void* allocate(std::size_t) override { refuse("memory"); }
  void free(void*) noexcept override {}
  void* allocate_host(std::size_t) override { refuse("page-locked memory"); }
  void free_host(void*) noexcept override {}

  gpu::StreamHandle make_stream(bool) override { return this; }
  void destroy_stream(gpu::StreamHandle) noexcept override {}
  void synchronize(gpu::StreamHandle) override {}
  bool idle(gpu::StreamHandle) override { return true; }

  void copy_in(void*, const void*, std::size_t, gpu::StreamHandle) override { refuse("a copy"); }
  void copy_out(void*, const void*, std::size_t, gpu::StreamHandle) override { refuse("a copy"); }
  void copy(void*, const void*, std::size_t, gpu::StreamHandle) override { refuse("a copy"); }
  void set_zero(void*, std::size_t, gpu::StreamHandle) override { refuse("a fill"); }

  gpu::EventHandle make_event() override { return this; }
  void destroy_event(gpu::EventHandle) noexcept override {}
  void record(gpu::EventHandle, gpu::StreamHandle) override {}
  void wait(gpu::StreamHandle, gpu::EventHandle) override {}
  void synchronize_event(gpu::EventHandle) override {}
  bool passed(gpu::EventHandle) override { return true; }

  void begin_recording(gpu::StreamHandle) override { refuse("a recording"); }
  gpu::GraphHandle end_recording(gpu::StreamHandle) override { refuse("a recording"); }
  void replay(gpu::GraphHandle, gpu::StreamHandle) override { refuse("a replay"); }
  void destroy_graph(gpu::GraphHandle) noexcept override {}

 private:
  [[noreturn]] void refuse(const char* what) const {
    throw Error(ErrorKind::kInternal, fmt::format("{} is a GPU on paper and does not support {}", gpu_.name, what));
  }

  GpuModel gpu_;
};

}  // namespace

std::shared_ptr<gpu::Runtime> make_plan_only_runtime(const GpuModel& gpu) {
  return std::make_shared<PlanOnlyRuntime>(gpu);
}

}  // namespace dptrain::backend::cuda
