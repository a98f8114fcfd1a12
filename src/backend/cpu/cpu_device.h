#pragma once

// CpuDevice: the device of a CPU replica. Its memory is host memory; calls return when done, and run on the replica's
// thread and its helpers. Constructed on any thread, used from the replica's thread after enter().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"

namespace dptrain::backend::cpu {

struct Dnnl;

class CpuDevice final : public Device {
 public:
  CpuDevice(int index, int threads, const RuntimeOptions& options, std::vector<int> cpus = {});
  ~CpuDevice() override;

  DeviceKind kind() const noexcept override { return DeviceKind::kCpu; }
  std::string name() const override;
  std::string description() const override;
  void enter() override;

  std::unique_ptr<Stream> make_stream(bool high_priority) override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Recording> record(Stream& stream, const std::function<void()>& work) override;
  /// Page-aligned, zero-filled and touched by the calling thread.
  std::unique_ptr<Buffer> allocate(std::size_t bytes) override;
  std::unique_ptr<Buffer> allocate_host(std::size_t bytes) override { return allocate(bytes); }
  void copy_to_device(void* destination, const void* host, std::size_t bytes, Stream& stream) override;
  void copy_to_host(void* host, const void* source, std::size_t bytes, Stream& stream) override;
  void copy_between(void* destination, const void* source, std::size_t bytes, Stream& stream) override;
  const RuntimeOptions& options() const noexcept override { return options_; }
  bool reads_host_memory() const noexcept override { return true; }
  bool binds_threads() const noexcept override { return !cpus_.empty(); }

  std::unique_ptr<Update> make_update(const UpdateContext& context) override;
  std::unique_ptr<RowTable> make_row_table(const RowTableContext& context) override;

  void fill(float* x, std::int64_t n, float value, Stream& stream) override;
  void accumulate(void* y, const void* x, DType type, std::int64_t n, Stream& stream) override;
  void mark_not_finite(const double* value, float* gradient, Stream& stream) override;
  void mask_labels(const std::int32_t* labels, std::int64_t n, std::int32_t ignored, std::uint8_t* mask,
                   Stream& stream) override;
  void mask_labels(const float* labels, std::int64_t n, std::int64_t width, std::uint8_t* mask,
                   Stream& stream) override;
  void count_valid(const std::uint8_t* mask, std::int64_t n, double* valid, Stream& stream) override;
  void mask_scale(const double* valid, int ranks, std::int64_t stride, double positions, float* scale,
                  Stream& stream) override;
  void apply_fused(plan::LossStep::Fusion fusion, const void* logits, DType type, std::int64_t rows,
                   std::int64_t classes, float* values, Stream& stream) override;
  void from_float(const float* x, void* y, DType type, std::int64_t n, Stream& stream) override;
  void to_float(const void* x, DType type, float* y, std::int64_t n, Stream& stream) override;
  void sum_ranks(const std::vector<float*>& arenas, std::int64_t begin, std::int64_t end, Stream& stream) override;
  std::uint64_t hash(const float* x, std::int64_t n, Stream& stream) override;

  Dnnl& dnnl() noexcept { return *dnnl_; }

 private:
  int index_, threads_;
  RuntimeOptions options_;
  const std::vector<int> cpus_;
  std::unique_ptr<Dnnl> dnnl_;
};

// cpu_update.cpp, row_table.cpp
std::unique_ptr<Update> make_cpu_update(const UpdateContext& context, Device& device);
std::unique_ptr<RowTable> make_cpu_row_table(const RowTableContext& context, Device& device);

/// Zero-filled and touched by the calling thread. Throws Error{kMemory}, which names `device`.
std::unique_ptr<Buffer> allocate_memory(std::size_t bytes, const std::string& device);

}  // namespace dptrain::backend::cpu
