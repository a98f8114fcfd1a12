#pragma once

// Pictures of samples (images and clips) as the model receives them, for `data preview`, eval and the TensorBoard
// callback. Main thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "data/batch_writer.h"
#include "experiment/experiment.h"
#include "plot/rgb_image.h"

namespace dptrain::session {

/// Index of the first of the model's inputs that is an image or a clip.
std::optional<std::size_t> picture_input(const data::ModelSide& model);

/// Reads one input of a sample as numbers, with the transforms of training or evaluation.
class SampleReader {
 public:
  SampleReader(const std::shared_ptr<const data::Source>& source, const experiment::Experiment& experiment,
               const data::ModelSide& model, std::size_t input, bool evaluation);
  /// The sample as in that epoch. Throws data::SampleError if it cannot be read and may be skipped.
  std::vector<float> read(std::int64_t index, std::int64_t epoch);

 private:
  data::BatchWriter batch_writer_;
  std::shared_ptr<data::Batch::Buffer> buffer_;
  data::BatchWriter::Scratch scratch_;
  std::size_t input_, elements_;
  bool ids_;
};

using Shades = std::pair<float, float>;  ///< values shown as black and as white
/// 0..1 or 0..255 if it contains all values, else the smallest and the largest value.
Shades shades_of(const std::vector<std::vector<float>>& samples);

/// Indices of at most `most` frames of a clip, evenly spaced; {0} for an image.
std::vector<std::int64_t> shown_frames(const Shape& shape, std::int64_t most);
std::vector<std::shared_ptr<const plot::RgbImage>> images_of(const std::vector<float>& sample, const Shape& shape,
                                                             const std::vector<std::int64_t>& frames,
                                                             const Shades& shades);

}  // namespace dptrain::session
