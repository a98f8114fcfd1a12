#include "data/loader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

#include "core/clock.h"
#include "core/error.h"
#include "core/format.h"
#include "core/machine.h"
#include "core/trace.h"
#include "data/batch_writer.h"
#include "kernels/cpu/parallel.h"

namespace dptrain::data {
namespace {

/// More threads would wait for memory or for each other.
constexpr int kMaxAutoWorkers = 16;

int auto_workers(const LoaderOptions& options, bool is_copy) {
  if (options.workers > 0) return options.workers;
  if (is_copy) return 1;  // memory is the limit
  const int cores = machine::cpus();
  if (options.uses_all_cores) return std::max(1, cores);
  const int left = options.busy_threads > 0 ? cores - options.busy_threads : cores / 2;
  return std::clamp(left, 1, kMaxAutoWorkers);
}

/// `batch`: largest number of samples of a batch that this process makes.
int auto_prefetch(const LoaderOptions& options, std::int64_t batch, int workers) {
  if (options.prefetch > 0) return options.prefetch;
  // All workers fill the same batch, so few batches suffice, unless one has fewer samples than there are workers.
  const auto small = static_cast<int>(std::min<std::int64_t>(2 * workers / batch + 2, 2 * workers));
  return std::max(std::min(4, 2 * workers), small);
}

/// Samples that a worker takes at a time.
std::int64_t piece_size(std::int64_t batch, int workers, const BatchWriter& batch_writer) {
  constexpr std::int64_t kLargest = 8, kLargestWithoutTransforms = 256;
  if (batch_writer.is_copy()) return batch;
  return std::clamp<std::int64_t>(batch / (4 * workers), 1,
                                  batch_writer.reads_without_transforms() ? kLargestWithoutTransforms : kLargest);
}

/// Orders of the epochs in flight. Any thread; the first call makes an order while others wait for it.
class Orders {
 public:
  Orders(std::int64_t samples, const LoaderOptions& options)
      : samples_(samples),
        batch_size_(options.batch_size),
        shuffle_(options.shuffle),
        buckets_(options.buckets),
        seed_(options.seed) {}

  using Order = std::shared_ptr<const std::vector<std::int64_t>>;
  /// Null: the identity.
  Order order_of(std::int64_t epoch) {
    if (shuffle_.kind == Shuffle::Kind::kNone && buckets_.window == 0) return nullptr;
    const std::lock_guard lock(mutex_);
    for (const auto& [known, order] : recent_)
      if (known == epoch) return order;
    auto& oldest = recent_[next_++ % recent_.size()];
    oldest = {epoch, std::make_shared<const std::vector<std::int64_t>>(make(epoch))};
    return oldest.second;
  }

 private:
  std::vector<std::int64_t> make(std::int64_t epoch) const {
    std::vector<std::int64_t> order = Loader::order(samples_, shuffle_, seed_, epoch);
    if (buckets_.window == 0) return order;
    return bucket_order(std::move(order), buckets_, batch_size_, seed_, epoch);
  }

  const std::int64_t samples_, batch_size_;
  const Shuffle shuffle_;
  const LengthBuckets buckets_;
  const std::uint64_t seed_;
  std::mutex mutex_;
  std::array<std::pair<std::int64_t, Order>, 2> recent_{std::pair{-1, nullptr}, std::pair{-1, nullptr}};
  std::size_t next_ = 0;
};

}  // namespace

/// Tickets number the batches since the last seek; a batch is made in an entry of a ring. Workers take pieces of the
/// first batch with rows left, so all of them fill one batch. At most as many batches as the ring has entries are ahead
/// of the trainer. A seek waits until no worker is busy, for a sample at most.
struct Loader::Impl {
  struct Position {
    std::int64_t epoch, first;
  };
  struct Entry {
    std::shared_ptr<Batch::Buffer> buffer;
    std::int64_t rows = 0, next_row = 0;  // rows of the share; the first without a worker
    int working = 0;                      // workers that fill rows of it
    bool opening = false, opened = false;
    std::vector<BadRow> bad;
    std::exception_ptr error;
    std::int64_t error_row = 0;  // row of that error
    bool ready = false;
  };

  Impl(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model, std::vector<LabelForm> labels,
       const LoaderOptions& options)
      : samples(source->size()),
        batch_size(options.batch_size),
        dataset(options.dataset),
        share(options.share),
        agree(options.agree),
        allocate(options.allocate ? options.allocate : aligned_memory),
        reserved(options.allocate ? static_cast<std::size_t>(std::max(1, options.held)) : 0),
        batch_writer(source, std::move(pipeline), model, std::move(labels), options.seed, options.form),
        account(source->bad_samples()),
        workers(auto_workers(options, batch_writer.is_copy())),
        sets_number(options.sets_number),
        max_share(options.max_share),
        max_rows(std::max({std::int64_t{1}, options.max_share, share_of(std::min(batch_size, samples), 0).count})),
        piece(piece_size(max_rows, workers, batch_writer)),
        ring(static_cast<std::size_t>(auto_prefetch(options, max_rows, workers))),
        orders(samples, options) {
    if (share && account && account->skips() && !agree)
      throw Error(ErrorKind::kInternal, "a loader with a share may skip samples only if `agree` is set");
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
      ++generation;
    }
    to_do.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  /// Positions of this process in a batch of `positions` positions.
  RowRange share_of(std::int64_t positions, std::int64_t number) const {
    const RowRange whole{0, positions};
    if (!share) return whole;
    const RowRange own = share(positions, number);
    if (own.first < 0 || own.count < 0 || own.end() > positions)
      throw Error(ErrorKind::kInternal,
                  fmt::format("positions {} to {} of a batch of {}", own.first, own.end(), positions));
    return own;
  }

  std::int64_t number_of(const Position& at) const { return at.epoch * batches_from(0) + at.first / batch_size; }
  std::int64_t batches_from(std::int64_t first) const { return (samples - first + batch_size - 1) / batch_size; }

  /// Only the trainer's thread changes `start`, under the mutex.
  Position position(std::int64_t ticket) const {
    const std::int64_t in_first_epoch = batches_from(start.first);
    if (ticket < in_first_epoch) return {start.epoch, start.first + ticket * batch_size};
    const std::int64_t beyond = ticket - in_first_epoch, per_epoch = batches_from(0);
    return {start.epoch + 1 + beyond / per_epoch, beyond % per_epoch * batch_size};
  }

  /// On the trainer's thread, while no replica has queued work: the driver may hold a lock and wait for idle GPUs while
  /// it allocates page-locked memory. If a worker allocated during a collective, the other ranks could not join it.
  void run() {
    if (!threads.empty()) return;
    buffer_rows = largest_share();
    if (reserved > 0)
      for (std::size_t i = 0; i < ring.size() + reserved; ++i)
        pool->release(batch_writer.make_buffer(buffer_rows, allocate));
    for (int i = 0; i < workers; ++i) threads.emplace_back([this, i] { work(i); });
  }

  /// Rows of the largest share of a batch from `start` on. A short batch may have a larger share than a full one.
  std::int64_t largest_share() const {
    std::int64_t most = max_rows;
    for (const std::int64_t positions : {samples % batch_size, (samples - start.first) % batch_size})
      if (positions > 0 && max_share == 0) most = std::max(most, share_of(positions, 0).count);
    return most;
  }

  Entry& entry_of(std::int64_t ticket) { return ring[static_cast<std::size_t>(ticket) % ring.size()]; }

  bool work_left() {
    return !seeking && claimed < delivered + static_cast<std::int64_t>(ring.size()) && !entry_of(claimed).opening;
  }

  void work(int worker) {
    trace::name_thread("loader, worker " + std::to_string(worker));
    kernels::cpu::set_thread_count(1);  // the replicas use the other cores
    BatchWriter::Scratch scratch;
    std::unique_lock lock(mutex);
    while (true) {
      {
        const trace::Span span("wait", "waiting for a free batch");
        to_do.wait(lock, [&] { return stop || work_left(); });
      }
      if (stop) return;
      const std::int64_t ticket = claimed;
      if (!entry_of(ticket).opened && !open(ticket, lock)) continue;
      work_on(ticket, scratch, lock);
    }
  }

  /// Assigns memory and samples to the batch. False if that failed, a seek intervened, or the share has no rows.
  bool open(std::int64_t ticket, std::unique_lock<std::mutex>& lock) {
    Entry& entry = entry_of(ticket);
    const Position at = position(ticket);
    const std::uint64_t mine = generation;
    entry.opening = true;
    ++busy;
    lock.unlock();
    std::shared_ptr<Batch::Buffer> buffer;
    std::exception_ptr error;
    try {
      const std::int64_t end = std::min(at.first + batch_size, samples);
      const RowRange own = share_of(end - at.first, number_of(at));
      buffer = pool->acquire();
      if (!buffer || buffer->capacity < own.count)
        buffer = batch_writer.make_buffer(std::max(buffer_rows, own.count), allocate);
      buffer->pool = pool;
      describe(*buffer, at, end, own, orders.order_of(at.epoch).get());
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    leave();
    if (mine != generation) {
      if (buffer) pool->release(std::move(buffer));
      return false;
    }
    entry.opening = false;
    entry.opened = true;
    entry.error = error;
    entry.rows = error ? 0 : buffer->share.count;
    entry.buffer = std::move(buffer);
    if (entry.rows == 0) finish_claims(ticket);
    to_do.notify_all();
    return entry.rows > 0;
  }

  /// Sets the positions and samples of the buffer.
  void describe(Batch::Buffer& buffer, const Position& at, std::int64_t end, const RowRange& own,
                const std::vector<std::int64_t>* order) const {
    buffer.epoch = at.epoch;
    buffer.number = sets_number ? number_of(at) : -1;
    buffer.first = at.first;
    buffer.end = end;
    buffer.share = own;
    buffer.dataset = dataset;
    buffer.indices.resize(static_cast<std::size_t>(end - at.first));
    if (order != nullptr)
      std::copy_n(order->begin() + at.first, buffer.indices.size(), buffer.indices.begin());
    else
      std::iota(buffer.indices.begin(), buffer.indices.end(), at.first);
    buffer.bad.clear();
    buffer.positions = {.count = end - at.first};
    buffer.agreed = false;
  }

  void work_on(std::int64_t ticket, BatchWriter::Scratch& scratch, std::unique_lock<std::mutex>& lock) {
    Entry& entry = entry_of(ticket);
    const std::uint64_t mine = generation;
    const std::int64_t begin = entry.next_row, end = std::min(begin + piece, entry.rows);
    entry.next_row = end;
    if (end == entry.rows) ++claimed;
    ++entry.working;
    ++busy;
    Batch::Buffer& buffer = *entry.buffer;
    lock.unlock();
    Outcome outcome;
    {
      const trace::Span span("data", "filling rows of batch", buffer.first / batch_size + 1);
      outcome = fill(buffer, begin, end, mine, scratch);
    }
    lock.lock();
    leave();
    if (mine != generation) return;
    --entry.working;
    entry.bad.insert(entry.bad.end(), outcome.bad.begin(), outcome.bad.end());
    if (outcome.error && (!entry.error || outcome.error_row < entry.error_row)) {
      entry.error = outcome.error;
      entry.error_row = outcome.error_row;
    }
    // Other workers have taken the rows before a failed one, so the first error does not depend on their number.
    if (outcome.error && entry.next_row < entry.rows) {
      entry.next_row = entry.rows;
      ++claimed;
    }
    if (entry.next_row == entry.rows && entry.working == 0) finish(ticket);
  }

  /// The worker no longer uses the ring.
  void leave() {
    if (--busy == 0 && seeking) idle.notify_all();
  }

  void finish_claims(std::int64_t ticket) {
    ++claimed;
    finish(ticket);
  }

  void finish(std::int64_t ticket) {
    Entry& entry = entry_of(ticket);
    if (!entry.error && !entry.bad.empty()) drop(entry);
    entry.ready = true;
    if (ticket == delivered) done.notify_one();
  }

  /// Moves the readable own rows together, and stores the bad samples in order.
  void drop(Entry& entry) {
    std::ranges::sort(entry.bad, {}, &BadRow::position);
    Batch::Buffer& buffer = *entry.buffer;
    std::int64_t to = 0;
    auto bad = entry.bad.begin();
    for (std::int64_t row = 0; row < entry.rows; ++row) {
      if (bad != entry.bad.end() && bad->position == buffer.share.first + row)
        ++bad;
      else
        batch_writer.move_row(buffer, row, to++);
    }
    buffer.bad = std::move(entry.bad);
  }

  /// On the trainer's thread, for a ready batch: removes the samples that are missing in any process from its rows, and
  /// adds them to the account, which may throw. Can be called again if it throws.
  void remove_bad_rows(Batch::Buffer& buffer) {
    if (!account) return;
    if (!buffer.agreed) {
      if (agree && account->skips()) buffer.bad = agreed(buffer);
      std::vector<std::int64_t>& missing = buffer.positions.missing;
      for (const BadRow& bad : buffer.bad) missing.push_back(bad.position);
      std::size_t to = 0, next = 0;
      for (std::size_t i = 0; i < buffer.indices.size(); ++i) {
        if (next < missing.size() && missing[next] == static_cast<std::int64_t>(i))
          ++next;
        else
          buffer.indices[to++] = buffer.indices[i];
      }
      buffer.indices.resize(to);
      buffer.agreed = true;
    }
    for (const BadRow& bad : buffer.bad) account->add(bad.sample);
  }

  std::vector<BadRow> agreed(const Batch::Buffer& buffer) const {
    std::vector<BadRow> all = agree(buffer.bad);
    std::vector<BadRow> own;
    std::int64_t last = -1;
    for (const BadRow& bad : all) {
      if (bad.position <= last || bad.position >= buffer.positions.count)
        throw Error(ErrorKind::kInternal, fmt::format("bad sample at position {} after {} in a batch of {}",
                                                      bad.position, last, buffer.positions.count));
      last = bad.position;
      if (bad.position >= buffer.share.first && bad.position < buffer.share.end()) own.push_back(bad);
    }
    if (own != buffer.bad)
      throw Error(ErrorKind::kInternal, fmt::format("this process has {} bad samples, the others agree on {}",
                                                    buffer.bad.size(), own.size()));
    return all;
  }

  static constexpr std::int64_t kPrefetchDistance = 8;  ///< samples prefetched ahead of the one that is read
  struct Outcome {
    std::vector<BadRow> bad;
    std::exception_ptr error;
    std::int64_t error_row = 0;
  };

  Outcome fill(Batch::Buffer& buffer, std::int64_t begin, std::int64_t end, std::uint64_t mine,
               BatchWriter::Scratch& scratch) {
    Outcome outcome;
    std::int64_t row = begin;
    const auto prefetch_sample = [&](std::int64_t coming) {
      if (coming < end)
        batch_writer.prefetch_sample(buffer.indices[static_cast<std::size_t>(buffer.share.first + coming)]);
    };
    try {
      for (std::int64_t ahead = 0; ahead < kPrefetchDistance; ++ahead) prefetch_sample(begin + ahead);
      for (; row < end && mine == generation.load(std::memory_order_relaxed); ++row) {
        const std::int64_t position = buffer.share.first + row;
        prefetch_sample(row + kPrefetchDistance);
        try {
          batch_writer.fill(buffer.indices[static_cast<std::size_t>(position)], buffer.epoch, row, scratch, buffer);
        } catch (const SampleError& error) {
          if (!account) throw;
          outcome.bad.push_back({position, error.sample()});
        }
      }
    } catch (...) {
      outcome.error = std::current_exception();
      outcome.error_row = row;
    }
    return outcome;
  }

  const std::int64_t samples, batch_size;
  const int dataset;
  const std::function<RowRange(std::int64_t, std::int64_t)> share;
  const BadRowExchange agree;
  const Allocate allocate;
  const std::size_t reserved;  // buffers allocated in addition to those of the ring before the workers start; 0: none
  const BatchWriter batch_writer;
  const std::shared_ptr<BadSamples> account;  // used by the trainer's thread only
  const int workers;
  const bool sets_number;
  const std::int64_t max_share;
  const std::int64_t max_rows;  // rows of a full batch in this process
  const std::int64_t piece;
  std::int64_t buffer_rows = 0;  // rows of a buffer; set before the workers start

  std::mutex mutex;  // guards the members up to the condition variables
  std::vector<Entry> ring;
  Position start{0, 0};
  std::int64_t claimed = 0, delivered = 0;  // tickets: the first with rows left, the next to be delivered
  int busy = 0;                             // workers that use the ring
  bool seeking = false;
  std::atomic<std::uint64_t> generation{0};  // written under the mutex, read without it
  bool stop = false;
  std::condition_variable to_do, done, idle;

  std::int64_t epoch = 0;   // used by the trainer's thread only
  bool epoch_lost = false;  // only dropped samples since its start
  Orders orders;
  const std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>();
  std::vector<std::thread> threads;
};

Loader::Loader(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model,
               std::vector<LabelForm> labels, LoaderOptions options) {
  if (options.batch_size < 1)
    throw Error(ErrorKind::kUsage, fmt::format("batch_size must be >= 1, found {}", options.batch_size));
  if (source->size() < 1) throw Error(ErrorKind::kData, "the data set has no samples");
  impl_ = std::make_unique<Impl>(std::move(source), std::move(pipeline), model, std::move(labels), options);
}

Loader::~Loader() = default;

std::int64_t Loader::samples() const { return impl_->samples; }
std::int64_t Loader::batches_per_epoch() const { return impl_->batches_from(0); }
int Loader::workers() const { return impl_->workers; }
int Loader::prefetch() const { return static_cast<int>(impl_->ring.size()); }
std::vector<RowsInMemory> Loader::rows_in_memory() const { return impl_->batch_writer.rows_in_memory(); }

void Loader::seek(std::int64_t epoch, std::int64_t first_sample) {
  if (epoch < 0 || first_sample < 0 || first_sample > impl_->samples)
    throw Error(ErrorKind::kData, fmt::format("cannot continue at sample {} of epoch {}: the data set has {} samples",
                                              first_sample, epoch, impl_->samples));
  {
    std::unique_lock lock(impl_->mutex);
    ++impl_->generation;
    impl_->seeking = true;
    impl_->idle.wait(lock, [&] { return impl_->busy == 0; });
    impl_->seeking = false;
    impl_->start = {epoch, first_sample};
    impl_->claimed = impl_->delivered = 0;
    for (Impl::Entry& entry : impl_->ring) {
      if (entry.buffer) impl_->pool->release(std::move(entry.buffer));
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
    Impl::Entry& entry = impl_->entry_of(impl_->delivered);
    {
      const trace::Span span("wait", "waiting for a batch");
      impl_->done.wait(lock, [&] { return entry.ready; });
    }
    if (entry.error) std::rethrow_exception(entry.error);  // the ticket stays, so the next call fails again
    lock.unlock();  // remove_bad_rows() may wait for other processes; workers ignore ready entries
    impl_->remove_bad_rows(*entry.buffer);
    lock.lock();
    std::shared_ptr<Batch::Buffer> buffer = std::move(entry.buffer);
    entry = {};
    ++impl_->delivered;
    impl_->to_do.notify_all();
    if (!buffer->indices.empty()) {
      impl_->epoch_lost = false;
      buffer->waited = watch.seconds();
      batch.buffer_ = std::move(buffer);
      return batch;
    }
    impl_->epoch_lost = impl_->epoch_lost || buffer->first == 0;
    impl_->pool->release(std::move(buffer));
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
