#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/slot.h"

namespace dptrain::data {
namespace {

std::size_t bytes_of(const Array& sample) {
  return sample.type == DType::kU8 ? sample.u8.size() : sample.f32.size() * sizeof(float);
}

std::uint64_t free_memory() {
  return static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Each sample in memory of its own, made when it comes.
class MemoryStore final : public CacheStore {
 public:
  MemoryStore(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit)
      : samples_(static_cast<std::size_t>(samples)),
        fixed_(fixed),
        limit_(limit ? limit->bytes : free_memory() / 2),
        limit_given_(limit.has_value()) {}

  bool find(std::int64_t index, ImageView& out) const override {
    const Sample& sample = samples_[static_cast<std::size_t>(index)];
    if (sample.state.load(std::memory_order_acquire) != kReady) return false;
    out.shape = sample.shape;
    out.type = sample.type;
    out.data = sample.data.get();
    return true;
  }

  void keep(std::int64_t index, const Array& array) override {
    const std::size_t bytes = bytes_of(array);
    if (fixed_) check_all_fit(array, bytes);
    Sample& sample = samples_[static_cast<std::size_t>(index)];
    std::uint8_t empty = kEmpty;
    if (!sample.state.compare_exchange_strong(empty, kTaken)) return;
    if (used_.fetch_add(bytes) + bytes > limit_) {
      used_.fetch_sub(bytes);
      sample.state.store(kEmpty);
      say_full();
      return;
    }
    sample.data = aligned_memory(bytes);
    std::memcpy(sample.data.get(), array.type == DType::kU8 ? static_cast<const void*>(array.u8.data()) : array.f32.data(),
                bytes);
    sample.shape = array.shape;
    sample.type = array.type;
    count_.fetch_add(1);
    sample.state.store(kReady, std::memory_order_release);
  }

 private:
  static constexpr std::uint8_t kEmpty = 0, kTaken = 1, kReady = 2;
  struct Sample {
    std::atomic<std::uint8_t> state{kEmpty};
    DType type = DType::kU8;
    Shape shape;
    std::shared_ptr<void> data;
  };

  std::string limit_text() const {
    return human_bytes(limit_) + (limit_given_ ? "" : " (half of the free memory)");
  }
  void check_all_fit(const Array& array, std::size_t bytes) const {
    const std::uint64_t all = bytes * samples_.size();
    if (all <= limit_) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("data.loader.cache: {} samples of {} {} need {}, the limit is {}; write "
                            "cache: {{memory: {} MiB}}, {{disk: FOLDER}} or none",
                            samples_.size(), array.shape.str(), array.type == DType::kU8 ? "bytes" : "floats",
                            human_bytes(all), limit_text(), (all >> 20) + 1));
  }
  void say_full() {
    std::call_once(full_, [&] {
      log::warn(fmt::format("data.loader.cache is full: {} hold {} of {} samples; the others are made anew in each epoch",
                            limit_text(), count_.load(), samples_.size()));
    });
  }

  std::vector<Sample> samples_;
  const bool fixed_;
  const std::uint64_t limit_;
  const bool limit_given_;
  std::atomic<std::uint64_t> used_{0}, count_{0};
  std::once_flag full_;
};

}  // namespace

std::unique_ptr<CacheStore> memory_store(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit) {
  return std::make_unique<MemoryStore>(samples, fixed, limit);
}

}  // namespace dptrain::data
