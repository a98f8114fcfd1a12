#pragma once

// Features: outputs of a part of a network for a data set's samples, stored as rows in memory or in a file. Labels and
// all else are those of the data set. One thread fills it; then any thread may read.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/sources/wrapped_source.h"

namespace dptrain::data {

struct FeatureInput {
  std::string name;
  Shape shape;
  DType type = DType::kF32;  ///< kF32, kI32 (ids) or kU8 (a mask)

  std::size_t row_bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(type); }
};

/// Bytes for the features of `samples` samples.
std::uint64_t feature_bytes(const std::vector<FeatureInput>& inputs, std::int64_t samples);

class Features final : public WrappedSource {
 public:
  /// Allocates the memory (`folder` empty) or the disk space at once. The file is unlinked, so its space is freed with
  /// this object or the process. Throws Error{kMemory} or Error{kWrite}.
  Features(std::shared_ptr<const Source> of, std::vector<FeatureInput> inputs, const std::string& folder);
  ~Features() override;

  /// Stores the features of sample `index`, one row per input. Throws Error{kWrite}.
  void store(std::int64_t index, const std::vector<const std::byte*>& rows);
  /// Number of samples without features, because they could not be read. Reading one throws as the data set does.
  std::int64_t missing() const { return size() - stored_count_; }
  std::uint64_t bytes() const { return feature_bytes(inputs_, size()); }

  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return inputs_[static_cast<std::size_t>(input)].name; }
  Shape input_shape(int input) const override { return inputs_[static_cast<std::size_t>(input)].shape; }
  Shape peek_shape(std::int64_t, int) const override { return {}; }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override;
  bool can_read_exact(int input, DType type) const override {
    return type != DType::kF32 && inputs_[static_cast<std::size_t>(input)].type == type;
  }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override;
  /// Null if the rows are in a file or one is missing.
  const float* f32_rows(int input) const override;

 private:
  void open_file(const std::string& folder);
  std::size_t place(std::int64_t index, std::size_t input) const;  ///< byte offset of the row
  void read_row(std::int64_t index, std::size_t input, void* out) const;
  void read_again(std::int64_t index, Array& spare) const;

  const std::vector<FeatureInput> inputs_;
  std::unique_ptr<std::byte[]> memory_;
  std::string folder_;
  int file_ = -1;
  std::vector<bool> stored_;
  std::int64_t stored_count_ = 0;
};

}  // namespace dptrain::data
