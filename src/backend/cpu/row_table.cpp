// CpuRowTable: the RowTable of the CPU. Threads copy small groups of rows to contiguous buffers, which stay in the
// nearest cache for all deferred updates of a group.

#include <algorithm>
#include <cstring>

#include "backend/cpu/cpu_device.h"
#include "backend/optimizer_op.h"
#include "kernels/cpu/optimizer.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/thread_pool.h"
#include "nn/optimizer.h"

namespace dptrain::backend::cpu {
namespace {

namespace kernel = kernels::cpu;

constexpr std::size_t count_of(std::int64_t count) { return static_cast<std::size_t>(count); }

/// memcpy, which also accepts null pointers for 0 bytes.
void copy_bytes(const void* from, std::size_t bytes, void* to) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

class CpuRowTable final : public RowTable {
 public:
  CpuRowTable(const RowTableContext& context, Device& device)
      : rows_(context.parameter.shape[0]),
        width_(context.parameter.elements() / rows_),
        weights_(context.weights),
        slots_(context.slots),
        first_(nn::slots(context.optimizer)),
        optimizer_(context.optimizer),
        skips_unused_rows_(nn::common(optimizer_).weight_decay.value_or(0) == 0),
        group_(std::max<std::int64_t>(1, kGroupFloats / width_)),
        stream_(device.make_stream()),
        op_(make_optimizer_op({.plan = context.plan, .optimizer = optimizer_}, device)),
        place_(count_of(rows_), kAbsent),
        made_(count_of(rows_), 0),
        history_(count_of(kHistory)) {
    row_buffers_.reserve(count_of(kernel::thread_count()));
    for (int thread = 0; thread < kernel::thread_count(); ++thread)
      row_buffers_.emplace_back(group_ * width_, slots_.size());
    restart();
  }

  void read(const std::int32_t* ids, std::int64_t count) override {
    for (std::int64_t i = 0; i < count; ++i) note(ids[i]);
    apply_deferred();
  }

  void clear() override {
    for (const std::int32_t row : touched_) place_[count_of(row)] = kAbsent;
    touched_.clear();
    gradient_.clear();
  }

  void add(const std::int32_t* ids, std::int64_t count, const float* dy) override {
    to_.resize(count_of(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::int32_t& place = place_[count_of(ids[i])];
      if (place == kAbsent) {
        place = static_cast<std::int32_t>(touched_.size());
        touched_.push_back(ids[i]);
      }
      to_[count_of(i)] = place;
    }
    gradient_.resize(touched_.size() * count_of(width_), 0.0F);
    // A piece has some columns of all rows, so that pieces do not share elements and the order is that of i.
    constexpr std::int64_t kColumns = 16;
    kernel::parallel_ranges(width_, kColumns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < count; ++i) {
        const float* const from = dy + i * width_;
        float* const to = gradient_.data() + to_[count_of(i)] * width_;
        for (std::int64_t c = begin; c < end; ++c) to[c] += from[c];
      }
    });
  }

  void share(Collective& collective, Stream& stream) override {
    const std::size_t ranks = count_of(collective.size());
    std::vector<std::int64_t>& counts = counts_;
    counts.resize(ranks);
    const auto mine = static_cast<std::int64_t>(touched_.size());
    collective.all_gather(&mine, sizeof(mine), counts.data(), stream);
    // Each rank sends its ids and then its rows, both padded to the largest count.
    const std::size_t most = count_of(*std::ranges::max_element(counts));
    const std::size_t words = most * (1 + count_of(width_));
    if (most == 0) return;
    given_.resize(words);
    copy_bytes(touched_.data(), touched_.size() * sizeof(std::int32_t), given_.data());
    copy_bytes(gradient_.data(), gradient_.size() * sizeof(float), given_.data() + most);
    got_.resize(ranks * words);
    collective.all_gather(given_.data(), static_cast<std::int64_t>(words * sizeof(float)), got_.data(), stream);
    clear();
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const float* const from = got_.data() + rank * words;
      ids_.resize(count_of(counts[rank]));
      copy_bytes(from, ids_.size() * sizeof(std::int32_t), ids_.data());
      add(ids_.data(), counts[rank], from + most);
    }
  }

  bool is_finite() const override {
    return kernel::all_finite(gradient_.data(), static_cast<std::int64_t>(gradient_.size()));
  }

  void clip(float limit) override {
    kernel::clip_by_value(limit, static_cast<std::int64_t>(gradient_.size()), gradient_.data());
  }

  void write_gradient(float* gradient) const override {
    std::fill_n(gradient, rows_ * width_, 0.0F);
    for (std::size_t i = 0; i < touched_.size(); ++i)
      std::copy_n(gradient_.data() + i * count_of(width_), width_, gradient + touched_[i] * width_);
  }

  void update(const UpdateArgs& args) override {
    for (const std::int32_t row : touched_) note(row);  // some were read by other replicas only
    apply_deferred();
    history_[count_of(updates_ % kHistory)] = args;
    const auto count = static_cast<std::int64_t>(touched_.size());
    kernel::parallel_slots(kernel::pieces_of(count, group_), [&](std::int64_t group, int slot) {
      const std::int64_t begin = group * group_, rows = std::min(count - begin, group_);
      RowBuffers& buffer = row_buffers_[count_of(slot)];
      copy(
          rows, buffer, [&](std::int64_t i) { return touched_[count_of(begin + i)]; }, true);
      run(buffer, gradient_.data() + begin * width_, rows, updates_);
      copy(
          rows, buffer, [&](std::int64_t i) { return touched_[count_of(begin + i)]; }, false);
    });
    ++updates_;
    if (skips_unused_rows_ && slots_.empty()) return;  // updates are never deferred
    for (const std::int32_t row : touched_) made_[count_of(row)] = updates_;
    catch_up_some();
  }

  void catch_up() override {
    for (std::int64_t row = 0; row < rows_; ++row) note(row);
    apply_deferred();
  }

  void restart() override {
    updates_ = 0;
    next_ = 0;
    for (std::int64_t row = 0; row < rows_; ++row)
      made_[count_of(row)] = skips_unused_rows_ && is_untouched(row) ? kUntouched : 0;
  }

  std::size_t bytes() const override {
    std::size_t sum =
        made_.size() * sizeof(std::int64_t) + (place_.size() + touched_.capacity()) * sizeof(std::int32_t);
    for (const auto* floats : {&gradient_, &given_, &got_}) sum += floats->capacity() * sizeof(float);
    return sum;
  }

 private:
  static constexpr std::int32_t kAbsent = -1;
  static constexpr std::int64_t kUntouched = -1;  ///< an update with a zero gradient changes nothing
  static constexpr std::int64_t kHistory = 2 * kMaxDeferred;
  static constexpr std::int64_t kGroupFloats = 4096;

  /// A thread's copies of the rows of a group.
  struct RowBuffers {
    RowBuffers(std::int64_t floats, std::size_t arrays)
        : weights(count_of(floats)), zeros(count_of(floats)), slots(arrays, weights) {
      for (auto& slot : slots) update.slots.push_back(slot.data());
      update.weights = weights.data();
    }
    std::vector<float> weights, zeros;
    std::vector<std::vector<float>> slots;
    UpdateBuffers update;
  };
  struct DeferredUpdates {
    std::int64_t made;  ///< updates
    std::int64_t row;
  };

  bool is_untouched(std::int64_t row) const {
    for (std::size_t s = 0; s < slots_.size(); ++s) {
      const float* const slot = slots_[s] + row * width_;
      if (std::any_of(slot, slot + width_, [&](float x) { return x != first_[s].initial; })) return false;
    }
    return true;
  }

  /// Adds the row to the list of apply_deferred() if it has deferred updates.
  void note(std::int64_t row) {
    std::int64_t& made = made_[count_of(row)];
    if (made == kUntouched || made == updates_) return;
    deferred_.push_back({made, row});
    made = updates_;
  }

  /// Applies the deferred updates of noted rows. In each group, rows with the most deferred updates are first, so that
  /// every update applies to the first rows of the group.
  void apply_deferred() {
    if (deferred_.empty()) return;
    std::ranges::stable_sort(deferred_, {}, &DeferredUpdates::made);
    const auto count = static_cast<std::int64_t>(deferred_.size());
    kernel::parallel_slots(kernel::pieces_of(count, group_), [&](std::int64_t group, int slot) {
      const std::int64_t begin = group * group_, rows = std::min(count - begin, group_);
      const DeferredUpdates* const first = deferred_.data() + begin;
      const auto row = [&](std::int64_t i) { return first[i].row; };
      RowBuffers& buffer = row_buffers_[count_of(slot)];
      copy(rows, buffer, row, true);
      std::int64_t joined = 0;
      for (std::int64_t update = first->made; update < updates_; ++update) {
        while (joined < rows && first[joined].made <= update) ++joined;
        std::fill_n(buffer.zeros.data(), joined * width_, 0.0F);  // the op may have overwritten them
        run(buffer, buffer.zeros.data(), joined, update);
      }
      copy(rows, buffer, row, false);
    });
    deferred_.clear();
  }

  /// Applies update number `update` to the first rows of the buffer.
  void run(RowBuffers& buffer, float* gradient, std::int64_t rows, std::int64_t update) const {
    buffer.update.gradients = gradient;
    op_->run({.buffers = buffer.update,
              .n = rows * width_,
              .update = history_[count_of(update % kHistory)],
              .stream = *stream_});
  }

  /// Copies rows row(0), row(1), ... of weights and slots to the buffer (`in`) or back.
  template <class Row>
  void copy(std::int64_t rows, RowBuffers& buffer, const Row& row, bool in) const {
    const auto one = [&](float* array, float* buffer_array) {
      for (std::int64_t i = 0; i < rows; ++i) {
        float* const there = array + row(i) * width_;
        float* const here = buffer_array + i * width_;
        in ? std::copy_n(there, width_, here) : std::copy_n(here, width_, there);
      }
    };
    one(weights_, buffer.weights.data());
    for (std::size_t s = 0; s < slots_.size(); ++s) one(slots_[s], buffer.slots[s].data());
  }

  /// Catches up with the next part of the table, so that at most kMaxDeferred updates of a row are deferred.
  void catch_up_some() {
    const std::int64_t end = std::min(next_ + pieces(), rows_);
    for (; next_ < end; ++next_) note(next_);
    if (next_ == rows_) next_ = 0;
    apply_deferred();
  }
  std::int64_t pieces() const { return kernel::pieces_of(rows_, kMaxDeferred - 1); }

  const std::int64_t rows_, width_;
  float* const weights_;
  const std::vector<float*> slots_;
  const std::vector<nn::SlotDef> first_;
  const config::Typed optimizer_;
  const bool skips_unused_rows_;  ///< a zero gradient leaves a row unchanged while its slots have their initial values
  const std::int64_t group_;      ///< rows of a group
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<OptimizerOp> op_;

  std::vector<std::int32_t> place_;    ///< per row: its index in touched_, or kAbsent
  std::vector<std::int32_t> touched_;  ///< rows of the gradient, in the order of their first add()
  std::vector<float> gradient_;        ///< [touched, width]

  std::vector<std::int64_t> made_;   ///< per row: number of applied updates, or kUntouched
  std::int64_t updates_ = 0;         ///< since restart()
  std::vector<UpdateArgs> history_;  ///< update u is at u % kHistory
  std::int64_t next_ = 0;            ///< next row of catch_up_some()

  // Reused buffers.
  std::vector<RowBuffers> row_buffers_;  ///< per thread
  std::vector<DeferredUpdates> deferred_;
  std::vector<std::int32_t> to_, ids_;
  std::vector<std::int64_t> counts_;
  std::vector<float> given_, got_;
};

}  // namespace

std::unique_ptr<RowTable> make_cpu_row_table(const RowTableContext& context, Device& device) {
  return std::make_unique<CpuRowTable>(context, device);
}

}  // namespace dptrain::backend::cpu
