#include <utility>

#include "data/slot.h"

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
const float* Batch::input(int i) const { return slot_->inputs[static_cast<std::size_t>(i)].data(); }

const std::byte* Batch::row(int i) const { return slot_->rows[static_cast<std::size_t>(i)].data(); }
std::size_t Batch::row_bytes(int i) const {
  return slot_->row_bytes.empty() ? 0 : slot_->row_bytes[static_cast<std::size_t>(i)];
}
const std::int64_t* Batch::samples() const { return slot_ ? slot_->samples.data() : nullptr; }
int Batch::feed() const { return slot_ ? slot_->feed : -1; }

const void* Batch::labels() const {
  if (!slot_) return nullptr;
  return slot_->classes.data() == nullptr ? static_cast<const void*>(slot_->values.data()) : slot_->classes.data();
}

const std::vector<std::int64_t>& Batch::indices() const {
  static const std::vector<std::int64_t> none;
  return slot_ ? slot_->indices : none;
}

double Batch::waited() const { return slot_ ? slot_->waited : 0; }

}  // namespace dptrain::data
