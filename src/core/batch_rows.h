#pragma once

// The rows of a batch in host memory: of a global batch, of a replica's share of it, of a micro-batch of that. Pointers
// only; whoever made the batch keeps the memory. Any thread.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dptrain {

/// One row of `row_bytes` for each sample, one after the other.
struct Column {
  const std::byte* data = nullptr;
  std::size_t row_bytes = 0;

  explicit operator bool() const { return data != nullptr; }
  /// From row `first` on.
  Column from(std::int64_t first) const {
    return data == nullptr ? *this : Column{data + static_cast<std::size_t>(first) * row_bytes, row_bytes};
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data);
  }
};

/// A column of `width` numbers for each sample.
template <class T>
Column column(const T* numbers, std::int64_t width = 1) {
  return {reinterpret_cast<const std::byte*>(numbers), static_cast<std::size_t>(width) * sizeof(T)};
}

struct BatchRows {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;    ///< within the global batch
  std::vector<Column> inputs{};  ///< one per input of the plan: float32, int32 or bytes, as its tensor is
  std::vector<Column> labels{};  ///< one per loss of the plan: int32 [rows] or float [rows, width]; empty: none
  Column sample_weights{};       ///< float [rows]; null: all are 1
  // Instead of `inputs`, where a device makes them itself from a feed of that number.
  int feed = -1;
  std::int64_t epoch = 0;
  Column samples{};           ///< int64 [rows]: which samples of the feed these are
  std::vector<Column> raw{};  ///< one per input, rows as the feed has them; empty where it is resident

  /// `count` rows from row `first` on.
  BatchRows sub(std::int64_t first, std::int64_t count) const {
    BatchRows part{.rows = count,
                   .first_row = first_row + first,
                   .sample_weights = sample_weights.from(first),
                   .feed = feed,
                   .epoch = epoch,
                   .samples = samples.from(first)};
    for (const Column& input : inputs) part.inputs.push_back(input.from(first));
    for (const Column& label : labels) part.labels.push_back(label.from(first));
    for (const Column& rows_of : raw) part.raw.push_back(rows_of.from(first));
    return part;
  }
};

}  // namespace dptrain
