#include "backend/cpu/cpu_memory.h"

#include <cstring>
#include <system_error>

#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/memory.h"

namespace dptrain::backend::cpu {
namespace {

class CpuBuffer final : public Buffer {
 public:
  explicit CpuBuffer(std::size_t bytes) : memory_(bytes) {
    std::memset(data(), 0, bytes);  // the first touch, which is slow, happens here and not in a step
  }

  void* data() const noexcept override { return memory_.data(); }
  std::size_t bytes() const noexcept override { return memory_.bytes(); }

 private:
  const MappedMemory memory_;
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

}  // namespace dptrain::backend::cpu
