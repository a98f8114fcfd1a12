#pragma once

// The rows of a batch in host memory: one process's part of a global batch, a replica's share of it, or a micro-batch
// of that share. Holds pointers only; the creator of the batch owns the memory. Any thread.
//
// A batch is cut by position and computed by row. Every sample has a position; a sample that cannot be read has no row.
// A missing sample therefore reduces only its own share.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dptrain {

// World: this process among all processes of a run. The local rank numbers a replica in its process (memory, threads,
// devices). The rank numbers it in the run (shares, random numbers, sums, messages).

struct World {
  int process = 0, processes = 1;
  int first_rank = 0;  ///< rank of local rank 0
  int ranks = 1;       ///< replicas of all processes

  static World single_process(int replicas) { return {.ranks = replicas}; }

  int rank(int local_rank) const { return first_rank + local_rank; }
  /// Whether this process writes the files and prints for all processes.
  bool is_first() const { return process == 0; }
};

/// One row of `row_bytes` per sample, contiguous.
struct Column {
  const std::byte* data = nullptr;
  std::size_t row_bytes = 0;

  explicit operator bool() const { return data != nullptr; }
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

/// Some of the rows, or of the positions, of a global batch: `count` from `first` on.
struct RowRange {
  std::int64_t first = 0, count = 0;

  std::int64_t end() const { return first + count; }
  bool operator==(const RowRange&) const = default;
};

struct BatchPositions {
  std::int64_t count = 0;
  std::vector<std::int64_t> missing{};  ///< positions without a row, ascending

  std::int64_t rows() const { return count - static_cast<std::int64_t>(missing.size()); }
  RowRange rows_at(RowRange positions) const {
    const auto before = [this](std::int64_t position) {
      return position - (std::ranges::lower_bound(missing, position) - missing.begin());
    };
    const std::int64_t first = before(positions.first);
    return {first, before(positions.end()) - first};
  }
};

struct BatchView {
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  ///< within the global batch
  /// Positions of the global batch if these rows are one process's part of it; none: these are the whole batch.
  std::optional<BatchPositions> batch{};
  std::vector<Column> inputs{};  ///< one per input of the plan, in its tensor's type
  std::vector<Column> labels{};  ///< one per loss of the plan: int32 [rows] or float [rows, width]; empty: none
  Column sample_weights{};       ///< float [rows]; null: all are 1
  // Used instead of `inputs` if a device makes the inputs itself, from the data set of this number.
  int dataset = -1;
  std::int64_t epoch = 0;
  /// Number of the batch in a training run, which determines its shares with a Balance; -1: not in a training run.
  std::int64_t number = -1;
  Column samples{};           ///< int64 [rows]: numbers of the samples in the data set
  std::vector<Column> raw{};  ///< one per input, rows in the form of the data set; empty if the data set is resident

  /// Positions of the global batch to which these rows belong.
  BatchPositions positions() const { return batch.value_or(BatchPositions{.count = rows}); }
  /// `count` rows from row `first` on, counted from the first row here. The part has neither `batch` nor `number`.
  BatchView sub(std::int64_t first, std::int64_t count) const {
    BatchView part{.rows = count,
                   .first_row = first_row + first,
                   .sample_weights = sample_weights.from(first),
                   .dataset = dataset,
                   .epoch = epoch,
                   .samples = samples.from(first)};
    for (const Column& input : inputs) part.inputs.push_back(input.from(first));
    for (const Column& label : labels) part.labels.push_back(label.from(first));
    for (const Column& rows_of : raw) part.raw.push_back(rows_of.from(first));
    return part;
  }
};

}  // namespace dptrain
