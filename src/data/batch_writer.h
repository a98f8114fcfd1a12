#pragma once

// BatchWriter: maps source inputs to model inputs, and writes samples to the rows of a buffer. Immutable; shared by the
// loader's threads, each with its own Scratch.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/batch_buffer.h"
#include "data/labels.h"

namespace dptrain::data {

/// Index of the source's input for an input of the model. Throws Error{kData} if there is none.
int source_input(const Source& source, const ModelSide& model, std::size_t which);

class BatchWriter {
 public:
  /// Memory that a thread reuses for all samples.
  struct Scratch {
    Array image;
    Pipeline::Scratch pipeline;
    std::vector<float> row;
    Array map, rows;
    struct Mix {
      Array own, other, mixed;
      std::vector<float> row;
    };
    std::vector<Mix> mixes;  ///< one per part of the pipeline (Pipeline::parts) if it mixes samples
  };

  /// Throws Error{kData} or Error{kUsage} as Loader does.
  BatchWriter(std::shared_ptr<const Source> source, Pipeline pipeline, const ModelSide& model,
              std::vector<LabelForm> labels, std::uint64_t seed, BatchForm form);

  std::shared_ptr<Batch::Buffer> make_buffer(std::int64_t rows, const Allocate& allocate) const;
  /// Prefetches sample `index`, with which this thread will soon fill a row.
  void prefetch_sample(std::int64_t index) const { source_->prefetch_sample(index); }
  /// Writes sample `index`, as in `epoch`, to a row. If the source has an account of bad samples, throws SampleError
  /// for an unreadable one; the content of the row is then undefined.
  void fill(std::int64_t index, std::int64_t epoch, std::int64_t row, Scratch& scratch, Batch::Buffer& buffer) const;
  std::vector<RowsInMemory> rows_in_memory() const;
  void move_row(Batch::Buffer& buffer, std::int64_t from, std::int64_t to) const;
  /// Whether filling is a copy: the form is kRows or kSamples, or all inputs are in memory and need at most a map of
  /// their channels.
  bool is_copy() const;
  /// Whether the source writes all inputs in the form of the model.
  bool reads_without_transforms() const;

 private:
  struct Input {
    int from = 0;               ///< index in the source
    Shape sample;               ///< shape before the pipeline; rank 0 if samples differ
    Shape model_shape;          ///< shape of the model's input
    std::int64_t elements = 0;  ///< elements of `model_shape`
    DType type = DType::kF32;   ///< as ModelSide::input_types
    std::int64_t id_limit = 0;  ///< as ModelSide::id_limits

    std::size_t row_bytes() const { return static_cast<std::size_t>(elements) * size_of(type); }
    const std::uint8_t* u8 = nullptr;  ///< rows in memory
    const float* f32 = nullptr;
    bool is_transformed = true;  ///< false: the transforms do not apply (ModelSide::is_transformed)
    bool is_final = false;       ///< the source writes rows in the form of the model (Source::can_read_exact)
  };

  static float* float_row(const Batch::Buffer& buffer, std::size_t input, std::int64_t row) {
    return reinterpret_cast<float*>(buffer.inputs[input].data() +
                                    static_cast<std::size_t>(row) * buffer.input_bytes[input]);
  }
  static bool in_memory(const Input& input) { return input.u8 != nullptr || input.f32 != nullptr; }
  void check_sizes(const Input& input) const;
  const Pipeline& pipeline_of(const Input& input) const { return input.is_transformed ? pipeline_ : kNoTransforms; }
  Input match(const ModelSide& model, std::size_t which) const;
  void copy_rows(std::int64_t index, std::int64_t row, Batch::Buffer& buffer) const;
  void fill_input(const Input& input, std::int64_t index, std::int64_t epoch, Scratch& scratch, float* out) const;
  void match_exact(Input& input, const std::string& name) const;
  void fill_exact(const Input& input, std::int64_t index, std::byte* out) const;
  void copy_row(const Input& input, std::int64_t index, float* out) const;
  DrawKey key_of(std::int64_t index, std::int64_t epoch) const;
  /// The sample as in the source. Reads it to `image` if it cannot be viewed in place.
  ImageView view_sample(const Input& input, std::int64_t index, const DrawKey& key, Array& image) const;
  void fill_labels(std::int64_t index, std::int64_t epoch, std::int64_t row, bool mixed, Scratch& scratch,
                   Batch::Buffer& buffer) const;
  // Mixing of samples. `level`: number of mixing transforms applied.
  void fill_mixed(std::int64_t index, std::int64_t epoch, std::int64_t row, Scratch& scratch,
                  Batch::Buffer& buffer) const;
  void mix_input(const Input& input, std::size_t level, std::int64_t index, std::int64_t epoch, Scratch& scratch,
                 Array& out) const;
  /// For an input without transforms: mixes it in the proportion of the labels.
  void mix_numbers(const Input& input, std::size_t level, std::int64_t index, std::int64_t epoch, Scratch& scratch,
                   float* out) const;
  void mix_labels(const LabelWriter& label, std::size_t level, std::int64_t index, std::int64_t epoch, Scratch& scratch,
                  float* out) const;
  /// The label map of a sample after the transforms up to mixer `level`, as rows if level > 0.
  void mix_map(const LabelWriter& label, std::size_t level, std::int64_t index, std::int64_t epoch, Scratch& scratch,
               Array& out) const;
  void fill_map(const LabelWriter& label, bool mixed, std::int64_t index, std::int64_t epoch, Scratch& scratch,
                std::byte* out) const;
  float mix_weights(std::size_t level, std::int64_t index, std::int64_t epoch) const;

  static const Pipeline kNoTransforms;

  std::shared_ptr<const Source> source_;
  Pipeline pipeline_;
  std::vector<Pipeline::Part> parts_;   ///< parts of a pipeline that mixes samples
  std::optional<ChannelMap> only_map_;  ///< set if the pipeline is only a map of channels
  std::vector<LabelWriter> labels_;     ///< one per loss
  std::uint64_t seed_;
  BatchForm form_;
  std::vector<Input> inputs_;
  std::vector<RowsInMemory> source_rows_;  ///< BatchForm::kRows
};

}  // namespace dptrain::data
