#include "data/batch_buffer.h"

#include <utility>

namespace dptrain::data {

Batch::Batch() = default;
Batch::Batch(Batch&&) noexcept = default;

Batch& Batch::operator=(Batch&& other) noexcept {
  const Batch released(std::move(*this));
  buffer_ = std::move(other.buffer_);
  return *this;
}

Batch::~Batch() {
  if (!buffer_) return;
  if (const std::shared_ptr<BufferPool> pool = buffer_->pool.lock()) pool->release(std::move(buffer_));
}

std::int64_t Batch::rows() const { return buffer_ ? static_cast<std::int64_t>(buffer_->indices.size()) : 0; }
std::int64_t Batch::epoch() const { return buffer_ ? buffer_->epoch : 0; }
std::int64_t Batch::first() const { return buffer_ ? buffer_->first : 0; }
std::int64_t Batch::end() const { return buffer_ ? buffer_->end : 0; }
RowRange Batch::own() const { return buffer_ ? buffer_->positions.rows_at(buffer_->share) : RowRange{}; }

std::span<const std::int64_t> Batch::own_indices() const {
  const RowRange range = own();
  return std::span(indices()).subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count));
}

const float* Batch::input(int i) const {
  return reinterpret_cast<const float*>(buffer_->inputs[static_cast<std::size_t>(i)].data());
}

const void* Batch::labels(int which) const {
  return buffer_ && !buffer_->labels.empty() ? buffer_->labels[static_cast<std::size_t>(which)].data() : nullptr;
}

BatchView Batch::view() const {
  if (!buffer_) return {};
  const Buffer& buffer = *buffer_;
  const RowRange range = own();
  BatchView view{.rows = range.count,
                 .first_row = range.first,
                 .batch = buffer.positions,
                 .dataset = buffer.dataset,
                 .epoch = buffer.epoch,
                 .number = buffer.number};
  for (std::size_t i = 0; i < buffer.inputs.size(); ++i)
    view.inputs.push_back({buffer.inputs[i].data(), buffer.input_bytes[i]});
  for (std::size_t i = 0; i < buffer.rows.size(); ++i) view.raw.push_back({buffer.rows[i].data(), buffer.row_bytes[i]});
  for (std::size_t i = 0; i < buffer.labels.size(); ++i)
    view.labels.push_back({buffer.labels[i].data(), buffer.label_bytes[i]});
  view.sample_weights = column(buffer.sample_weights.data());
  view.samples = column(buffer.samples.data());
  return view;
}

const std::vector<std::int64_t>& Batch::indices() const {
  static const std::vector<std::int64_t> none;
  return buffer_ ? buffer_->indices : none;
}

double Batch::waited() const { return buffer_ ? buffer_->waited : 0; }

}  // namespace dptrain::data
