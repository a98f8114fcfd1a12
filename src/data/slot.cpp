#include "data/slot.h"

#include <utility>

namespace dptrain::data {

Batch::Batch() = default;
Batch::Batch(Batch&&) noexcept = default;

Batch& Batch::operator=(Batch&& other) noexcept {
  const Batch released(std::move(*this));
  slot_ = std::move(other.slot_);
  return *this;
}

Batch::~Batch() {
  if (!slot_) return;
  if (const std::shared_ptr<SlotPool> pool = slot_->pool.lock()) pool->give(std::move(slot_));
}

std::int64_t Batch::rows() const { return slot_ ? static_cast<std::int64_t>(slot_->indices.size()) : 0; }
std::int64_t Batch::epoch() const { return slot_ ? slot_->epoch : 0; }
std::int64_t Batch::first() const { return slot_ ? slot_->first : 0; }
std::int64_t Batch::end() const { return slot_ ? slot_->end : 0; }
RowRange Batch::own() const { return slot_ ? slot_->positions.rows_at(slot_->share) : RowRange{}; }

std::span<const std::int64_t> Batch::own_indices() const {
  const RowRange range = own();
  return std::span(indices()).subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
}

const float* Batch::input(int i) const {
  return reinterpret_cast<const float*>(slot_->inputs[static_cast<std::size_t>(i)].data());
}

const void* Batch::labels(int which) const {
  return slot_ && !slot_->labels.empty() ? slot_->labels[static_cast<std::size_t>(which)].data() : nullptr;
}

BatchRows Batch::host() const {
  if (!slot_) return {};
  const Slot& slot = *slot_;
  const RowRange range = own();
  BatchRows host{.rows = range.count,
                 .first_row = range.first,
                 .batch = slot.positions,
                 .feed = slot.feed,
                 .epoch = slot.epoch,
                 .number = slot.number};
  for (std::size_t i = 0; i < slot.inputs.size(); ++i)
    host.inputs.push_back({slot.inputs[i].data(), slot.input_bytes[i]});
  for (std::size_t i = 0; i < slot.rows.size(); ++i) host.raw.push_back({slot.rows[i].data(), slot.row_bytes[i]});
  for (std::size_t i = 0; i < slot.labels.size(); ++i)
    host.labels.push_back({slot.labels[i].data(), slot.label_bytes[i]});
  host.sample_weights = column(slot.sample_weights.data());
  host.samples = column(slot.samples.data());
  return host;
}

const std::vector<std::int64_t>& Batch::indices() const {
  static const std::vector<std::int64_t> none;
  return slot_ ? slot_->indices : none;
}

double Batch::waited() const { return slot_ ? slot_->waited : 0; }

}  // namespace dptrain::data
