#include "data/loader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "data/filler.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::data {
namespace {

/// More threads than this wait for memory or for each other.
constexpr int kMostAutoWorkers = 16;

int auto_workers(const LoaderOptions& options, bool is_copy) {
  if (options.workers > 0) return options.workers;
  if (is_copy) return 1;  // memory is the limit
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int left = options.busy_threads > 0 ? cores - options.busy_threads : cores / 2;
  return std::clamp(left, 1, kMostAutoWorkers);
}

/// The orders of the epochs in flight. Any thread; whoever asks first makes one, the others wait for it.
class Orders {
 public:
  Orders(std::int64_t samples, const Shuffle& shuffle, std::uint64_t seed)
      : samples_(samples), shuffle_(shuffle), seed_(seed) {}

  using Order = std::shared_ptr<const std::vector<std::int64_t>>;
  /// Null for the identity.
  Order of(std::int64_t epoch) {
    if (shuffle_.kind == Shuffle::Kind::kNone) return nullptr;
    const std::lock_guard lock(mutex_);
    for (const auto& [known, order] : recent_)
      if (known == epoch) return order;
    auto& oldest = recent_[next_++ % recent_.size()];
    oldest = {epoch,
              std::make_shared<const std::vector<std::int64_t>>(Loader::order(samples_, shuffle_, seed_, epoch))};
    return oldest.second;
  }

 private:
  const std::int64_t samples_;
  const Shuffle shuffle_;
  const std::uint64_t seed_;
  std::mutex mutex_;
  std::array<std::pair<std::int64_t, Order>, 2> recent_{std::pair{-1, nullptr}, std::pair{-1, nullptr}};
  std::size_t next_ = 0;
};

}  // namespace

/// Batches since the last seek are numbered by tickets. Workers claim tickets in order, fewer than the ring is long
/// beyond the one to be delivered next, and put what they made into the ring. A seek starts a new generation: whatever
/// belongs to an older one is dropped, and who works on it stops at the next sample.
struct Loader::Impl {
  struct Position {
    std::int64_t epoch, first;
  };
  struct Entry {
    std::shared_ptr<Batch::Slot> slot;
    std::exception_ptr error;
    bool ready = false;
  };

  Impl(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model, LabelDelivery labels,
       const LoaderOptions& options)
      : samples(source->size()),
        batch_size(options.batch_size),
        feed(options.feed),
        allocate(options.allocate ? options.allocate : aligned_memory),
        filler(source, std::move(pipeline), model, labels, options.seed, options.delivery),
        account(source->bad_samples()),
        workers(auto_workers(options, filler.is_copy())),
        ring(static_cast<std::size_t>(options.prefetch > 0 ? options.prefetch : 2 * workers)),
        orders(samples, options.shuffle, options.seed) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      ++generation;
    }
    to_do.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  std::int64_t batches_from(std::int64_t first) const { return (samples - first + batch_size - 1) / batch_size; }

  /// Only the trainer's thread changes `start`, and only under the mutex.
  Position position(std::int64_t ticket) const {
    const std::int64_t in_first_epoch = batches_from(start.first);
    if (ticket < in_first_epoch) return {start.epoch, start.first + ticket * batch_size};
    const std::int64_t beyond = ticket - in_first_epoch, per_epoch = batches_from(0);
    return {start.epoch + 1 + beyond / per_epoch, beyond % per_epoch * batch_size};
  }

  void run() {
    if (!threads.empty()) return;
    for (int i = 0; i < workers; ++i) threads.emplace_back([this] { work(); });
  }

  void work() {
    kernels::cpu::set_thread_count(1);  // a worker is one thread; the cores belong to the replicas
    Filler::Scratch scratch;
    std::unique_lock lock(mutex);
    while (true) {
      to_do.wait(lock, [&] { return stop || claimed < delivered + static_cast<std::int64_t>(ring.size()); });
      if (stop) return;
      const std::int64_t ticket = claimed++;
      const Position at = position(ticket);
      const std::uint64_t mine = generation;
      lock.unlock();
      Entry made = make(at, mine, scratch);
      lock.lock();
      if (mine != generation) {
        if (made.slot) pool->give(std::move(made.slot));
        continue;
      }
      ring[static_cast<std::size_t>(ticket) % ring.size()] = std::move(made);
      if (ticket == delivered) done.notify_one();
    }
  }

  Entry make(Position at, std::uint64_t mine, Filler::Scratch& scratch) {
    Entry entry;
    entry.ready = true;
    try {
      entry.slot = pool->take();
      if (!entry.slot) entry.slot = filler.make_slot(std::min(batch_size, samples), allocate);
      entry.slot->pool = pool;
      fill(at, mine, scratch, *entry.slot);
    } catch (...) {
      entry.error = std::current_exception();
    }
    return entry;
  }

  void fill(Position at, std::uint64_t mine, Filler::Scratch& scratch, Batch::Slot& slot) {
    const Orders::Order order = orders.of(at.epoch);
    slot.epoch = at.epoch;
    slot.first = at.first;
    slot.end = std::min(at.first + batch_size, samples);
    slot.feed = feed;
    slot.indices.clear();
    slot.dropped.clear();
    for (std::int64_t p = at.first; p < slot.end && mine == generation.load(std::memory_order_relaxed); ++p) {
      const std::int64_t index = order ? (*order)[static_cast<std::size_t>(p)] : p;
      try {
        filler.fill(index, at.epoch, static_cast<std::int64_t>(slot.indices.size()), scratch, slot);
        slot.indices.push_back(index);
      } catch (const SampleError& error) {
        if (!account) throw;
        slot.dropped.push_back(error.sample());
      }
    }
  }

  const std::int64_t samples, batch_size;
  const int feed;
  const Allocate allocate;
  const Filler filler;
  const std::shared_ptr<BadSamples> account;  // the trainer's thread only
  const int workers;

  std::mutex mutex;  // guards what follows up to the condition variables
  std::vector<Entry> ring;
  Position start{0, 0};
  std::int64_t claimed = 0, delivered = 0;   // tickets
  std::atomic<std::uint64_t> generation{0};  // written under the mutex, read anywhere
  bool stop = false;
  std::condition_variable to_do, done;

  std::int64_t epoch = 0;   // the trainer's own
  bool epoch_lost = false;  // nothing but dropped samples since its start
  Orders orders;
  const std::shared_ptr<SlotPool> pool = std::make_shared<SlotPool>();
  std::vector<std::thread> threads;
};

Loader::Loader(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model, LabelDelivery labels,
               LoaderOptions options) {
  if (options.batch_size < 1)
    throw Error(ErrorKind::kUsage, fmt::format("batch_size must be >= 1, found {}", options.batch_size));
  if (source->size() < 1) throw Error(ErrorKind::kData, "the data set has no samples");
  impl_ = std::make_unique<Impl>(std::move(source), std::move(pipeline), model, labels, options);
}

Loader::~Loader() = default;

std::int64_t Loader::samples() const { return impl_->samples; }
std::int64_t Loader::batches_per_epoch() const { return impl_->batches_from(0); }
int Loader::workers() const { return impl_->workers; }
std::vector<RowsInMemory> Loader::rows_in_memory() const { return impl_->filler.rows_in_memory(); }

void Loader::seek(std::int64_t epoch, std::int64_t first_sample) {
  if (epoch < 0 || first_sample < 0 || first_sample > impl_->samples)
    throw Error(ErrorKind::kData, fmt::format("cannot go on at sample {} of epoch {}: the data set has {} samples",
                                              first_sample, epoch, impl_->samples));
  {
    const std::lock_guard lock(impl_->mutex);
    ++impl_->generation;
    impl_->start = {epoch, first_sample};
    impl_->claimed = impl_->delivered = 0;
    for (Impl::Entry& entry : impl_->ring) {
      if (entry.slot) impl_->pool->give(std::move(entry.slot));
      entry = {};
    }
  }
  impl_->epoch = epoch;
  impl_->epoch_lost = false;
  impl_->to_do.notify_all();
  impl_->run();
}

Batch Loader::next() {
  impl_->run();
  Batch batch;
  const Stopwatch watch;
  std::unique_lock lock(impl_->mutex);
  while (impl_->position(impl_->delivered).epoch == impl_->epoch) {
    Impl::Entry& entry = impl_->ring[static_cast<std::size_t>(impl_->delivered) % impl_->ring.size()];
    impl_->done.wait(lock, [&] { return entry.ready; });
    if (entry.error) std::rethrow_exception(entry.error);  // the ticket stays, so that asking again fails again
    for (const BadSample& bad : entry.slot->dropped) impl_->account->add(bad);  // as above
    std::shared_ptr<Batch::Slot> slot = std::move(entry.slot);
    entry = {};
    ++impl_->delivered;
    impl_->to_do.notify_one();
    if (!slot->indices.empty()) {
      impl_->epoch_lost = false;
      slot->waited = watch.seconds();
      batch.slot_ = std::move(slot);
      return batch;
    }
    impl_->epoch_lost = impl_->epoch_lost || slot->first == 0;
    impl_->pool->give(std::move(slot));
  }
  if (impl_->epoch_lost)
    throw Error(ErrorKind::kData, fmt::format("none of the {} samples can be read; the last one: {}", impl_->samples,
                                              impl_->account->all().back().str()));
  return batch;
}

void Loader::next_epoch() {
  const std::int64_t next = impl_->epoch + 1;
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->position(impl_->delivered).epoch == next) {
      impl_->epoch = next;
      impl_->epoch_lost = false;
      return;
    }
  }
  seek(next, 0);
}

}  // namespace dptrain::data
