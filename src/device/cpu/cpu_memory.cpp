#include "device/cpu/cpu_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"

namespace dptrain::device::cpu {
namespace {

/// One mapping, so it begins on a page. Huge pages were tried: no step was faster for them, and where a hypervisor
/// takes free memory back the first touch of 150 MiB took 0.4 s instead of 0.06 s.
class CpuBuffer final : public Buffer {
 public:
  explicit CpuBuffer(std::size_t bytes) : bytes_(bytes), mapped_(std::max<std::size_t>(bytes, 1)) {
    data_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw std::system_error(errno, std::generic_category());
    std::memset(data_, 0, mapped_);  // the first touch, which is slow, happens here and not in a step
  }
  ~CpuBuffer() override { ::munmap(data_, mapped_); }
  CpuBuffer(const CpuBuffer&) = delete;
  CpuBuffer& operator=(const CpuBuffer&) = delete;

  void* data() const noexcept override { return data_; }
  std::size_t bytes() const noexcept override { return bytes_; }

 private:
  std::size_t bytes_, mapped_;
  void* data_ = nullptr;
};

double gib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

Error out_of_memory(std::size_t bytes, std::uint64_t available, const std::string& device, const std::string& why) {
  return {ErrorKind::kMemory,
          fmt::format("{}: {:.2f} GiB of memory asked, {:.2f} GiB free{}; try a smaller batch_size or fewer replicas",
                      device, gib(bytes), gib(available), why)};
}

}  // namespace

std::unique_ptr<Buffer> allocate_memory(std::size_t bytes, const std::string& device) {
  // The system grants more than it has and kills later: ask first.
  const std::uint64_t available = machine::memory().available;
  if (available > 0 && bytes > available) throw out_of_memory(bytes, available, device, "");
  try {
    return std::make_unique<CpuBuffer>(bytes);
  } catch (const std::system_error& error) {
    throw out_of_memory(bytes, available, device, fmt::format(" ({})", error.what()));
  }
}

}  // namespace dptrain::device::cpu
