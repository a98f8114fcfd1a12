#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/once.h"
#include "core/text.h"
#include "data/cache.h"
#include "data/slot.h"

namespace dptrain::data {
namespace {

std::size_t bytes_of(const Array& sample) {
  return sample.type == DType::kU8 ? sample.u8.size() : sample.f32.size() * sizeof(float);
}

/// Bytes that stores may take. Any thread.
class Room {
 public:
  explicit Room(std::uint64_t most) : most_(most) {}
  bool take(std::uint64_t bytes) {
    if (taken_.fetch_add(bytes) + bytes <= most_) return true;
    taken_.fetch_sub(bytes);
    return false;
  }
  void give_back(std::uint64_t bytes) { taken_.fetch_sub(bytes); }
  std::uint64_t most() const { return most_; }
  std::uint64_t taken() const { return taken_; }

 private:
  const std::uint64_t most_;
  std::atomic<std::uint64_t> taken_{0};
};

/// That all stores without a limit of their own share: this process's part of half of what was free when the first of
/// them was made.
std::shared_ptr<Room> shared_room(int processes) {
  static std::mutex mutex;
  static std::weak_ptr<Room> room;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Room> shared = room.lock();
  if (!shared)
    room = shared = std::make_shared<Room>(machine::memory().available / 2 / static_cast<std::uint64_t>(processes));
  return shared;
}

/// Each sample in memory of its own, made when it comes.
class MemoryStore final : public CacheStore {
 public:
  MemoryStore(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit, int processes)
      : samples_(static_cast<std::size_t>(samples)),
        fixed_(fixed),
        room_(limit ? std::make_shared<Room>(limit->bytes) : shared_room(processes)),
        whose_limit_(limit           ? ""
                     : processes > 1 ? fmt::format(" (half of the free memory, for {} processes)", processes)
                                     : " (half of the free memory)") {}
  ~MemoryStore() override { room_->give_back(used_); }

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
    if (fixed_) all_fit_.run([&] { reserve_all(array, bytes); });
    Sample& sample = samples_[static_cast<std::size_t>(index)];
    std::uint8_t empty = kEmpty;
    if (!sample.state.compare_exchange_strong(empty, kTaken)) return;
    if (!fixed_ && !take(bytes)) {
      sample.state.store(kEmpty);
      say_full();
      return;
    }
    sample.data = aligned_memory(bytes);
    std::memcpy(sample.data.get(),
                array.type == DType::kU8 ? static_cast<const void*>(array.u8.data()) : array.f32.data(), bytes);
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

  bool take(std::uint64_t bytes) {
    if (!room_->take(bytes)) return false;
    used_.fetch_add(bytes);
    return true;
  }

  std::string limit_text() const {
    const std::uint64_t others = room_->taken() - used_;
    std::string text = human_bytes(room_->most()) + whose_limit_;
    if (others > 0) text += fmt::format(", of which other data sets have {}", human_bytes(others));
    return text;
  }
  /// Samples of one size: whether there is room for all shows at the first.
  void reserve_all(const Array& array, std::size_t bytes) {
    const std::uint64_t all = bytes * samples_.size();
    if (take(all)) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("data.loader.cache: {} samples of {} {} need {}, the limit is {}; write "
                            "cache: {{memory: {} MiB}}, {{disk: FOLDER}} or none",
                            samples_.size(), array.shape.str(), array.type == DType::kU8 ? "bytes" : "floats",
                            human_bytes(all), limit_text(), (all >> 20) + 1));
  }
  void say_full() {
    std::call_once(full_, [&] {
      log::warn(
          fmt::format("data.loader.cache is full: {} hold {} of {} samples; the others are made anew in each epoch",
                      limit_text(), count_.load(), samples_.size()));
    });
  }

  std::vector<Sample> samples_;
  const bool fixed_;
  const std::shared_ptr<Room> room_;
  const std::string whose_limit_;
  std::atomic<std::uint64_t> used_{0}, count_{0};
  Once all_fit_;
  std::once_flag full_;
};

}  // namespace

std::unique_ptr<CacheStore> memory_store(std::int64_t samples, bool fixed, std::optional<config::ByteSize> limit,
                                         int processes) {
  return std::make_unique<MemoryStore>(samples, fixed, limit, processes);
}

}  // namespace dptrain::data
