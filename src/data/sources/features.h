#pragma once

// Features: what part of a network makes of a data set's samples, kept as rows in memory or in a file; labels
// and everything else come from the data set itself. Filled by one thread before anybody reads; then any thread may
// read.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/sources/wrapped_source.h"

namespace dptrain::data {

struct FeatureInput {
  std::string name;
  Shape shape;
  DType type = DType::kF32;  ///< or kI32, ids, or kU8, a mask

  std::size_t row_bytes() const { return static_cast<std::size_t>(shape.elements()) * size_of(type); }
};

/// Bytes of the features of so many samples.
std::uint64_t feature_bytes(const std::vector<FeatureInput>& inputs, std::int64_t samples);

class Features final : public WrappedSource {
 public:
  /// Takes the memory (`folder` empty) or the room on the disk at once. The file has no name in its folder: it is gone
  /// with this object, or with the process. Throws Error{kMemory} or Error{kWrite}.
  Features(std::shared_ptr<const Source> of, std::vector<FeatureInput> inputs, const std::string& folder);
  ~Features() override;

  /// Keeps the features of sample `index`, one row for each input. Throws Error{kWrite}.
  void keep(std::int64_t index, const std::vector<const std::byte*>& rows);
  /// Samples that have none, because they could not be read: reading them fails as it does in the data set.
  std::int64_t missing() const { return size() - kept_count_; }
  std::uint64_t bytes() const { return feature_bytes(inputs_, size()); }

  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return inputs_[static_cast<std::size_t>(input)].name; }
  Shape input_shape(int input) const override { return inputs_[static_cast<std::size_t>(input)].shape; }
  Shape peek_shape(std::int64_t, int) const override { return {}; }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override;
  bool gives(int input, DType type) const override {
    return type != DType::kF32 && inputs_[static_cast<std::size_t>(input)].type == type;
  }
  void read_exact(std::int64_t index, int input, DType type, void* out) const override;
  /// Where they lie in memory and none is missing.
  const float* f32_rows(int input) const override;

 private:
  void open_file(const std::string& folder);
  std::size_t place(std::int64_t index, std::size_t input) const;  ///< bytes from the start
  void read_row(std::int64_t index, std::size_t input, void* out) const;

  const std::vector<FeatureInput> inputs_;
  std::unique_ptr<std::byte[]> memory_;
  std::string folder_;
  int file_ = -1;
  std::vector<bool> kept_;
  std::int64_t kept_count_ = 0;
};

}  // namespace dptrain::data
