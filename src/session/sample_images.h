#pragma once

// Pictures of samples (images and clips) as the model receives them, for `data preview`, eval and the TensorBoard
// callback. Main thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/shape.h"
#include "data/batch_writer.h"
#include "experiment/experiment.h"
#include "plot/contact_sheet.h"
#include "plot/rgb_image.h"

namespace dptrain::session {

/// Index of the first of the model's inputs that is an image or a clip.
std::optional<std::size_t> picture_input(const data::ModelSide& model);

/// Labels with a class for each pixel, and the classes' names.
struct MapLabels {
  data::LabelForm form;
  std::vector<std::string> names;  ///< one per class; a number if the data set has no name
};
/// The labels of the first output with a class for each pixel. `model`: of all outputs with a loss. None if there is no
/// such output, or if the samples have no label or one class. Throws Error{kData} for labels that do not fit.
std::optional<MapLabels> map_labels(const data::Source& source, const experiment::Experiment& experiment,
                                    const data::ModelSide& model, bool evaluation);

/// Reads one input of a sample as numbers, with the transforms of training or evaluation.
class SampleReader {
 public:
  /// With `map`, the form of map_labels(), it also reads label maps.
  SampleReader(const std::shared_ptr<const data::Source>& source, const experiment::Experiment& experiment,
               const data::ModelSide& model, std::size_t input, bool evaluation,
               const std::optional<data::LabelForm>& map = {});
  /// The sample as in that epoch. Throws data::SampleError if it cannot be read and may be skipped.
  std::vector<float> read(std::int64_t index, std::int64_t epoch);
  /// The label map of the sample that was read last. Only with `map`.
  plot::ClassMap label_map() const;

 private:
  std::optional<data::LabelForm> map_;
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

/// Colors of classes in pictures of maps: those of PASCAL VOC's masks. Class 0 has none if its name is its number or
/// "background".
std::vector<std::optional<plot::Rgb>> class_colors(const std::vector<std::string>& names);
/// The classes that occur in the maps, in order, and "ignored" if positions are ignored.
std::vector<plot::ClassColor> legend_of(const std::vector<const plot::ClassMap*>& maps,
                                        const std::vector<std::string>& names);

}  // namespace dptrain::session
