#pragma once

// Samples of images and clips as pictures of what the model gets of them: what `data preview`, eval and the callback
// TensorBoard draw. Main thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "data/filler.h"
#include "experiment/experiment.h"
#include "plot/rgb_image.h"

namespace dptrain::session {

/// The first of the model's inputs that is an image or a clip.
std::optional<std::size_t> picture_input(const data::ModelSide& model);

/// Reads one input of samples as numbers, through the transforms of training or of evaluation.
class SampleReader {
 public:
  SampleReader(const std::shared_ptr<const data::Source>& source, const experiment::Experiment& experiment,
               const data::ModelSide& model, std::size_t input, bool evaluation);
  /// As the sample is in that epoch. Throws data::SampleError where it cannot be read and may be left out.
  std::vector<float> read(std::int64_t index, std::int64_t epoch);

 private:
  data::Filler filler_;
  std::shared_ptr<data::Batch::Buffer> buffer_;
  data::Filler::Scratch scratch_;
  std::size_t input_, elements_;
  bool ids_;
};

using Shades = std::pair<float, float>;  ///< what is black and what is white
/// 0..1 or 0..255 where all values lie there, else the smallest and the largest.
Shades shades_of(const std::vector<std::vector<float>>& samples);

/// Which frames of a clip are shown: at most `most`, evenly spread, counted from 0; of an image {0}.
std::vector<std::int64_t> shown_frames(const Shape& shape, std::int64_t most);
/// These frames of a sample, an image or a clip.
std::vector<std::shared_ptr<const plot::RgbImage>> images_of(const std::vector<float>& sample, const Shape& shape,
                                                             const std::vector<std::int64_t>& frames,
                                                             const Shades& shades);

}  // namespace dptrain::session
