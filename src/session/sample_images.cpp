#include "session/sample_images.h"

#include <algorithm>

#include "data/batch_buffer.h"
#include "data/images/pixel_finish.h"

namespace dptrain::session {
namespace {

data::Pipeline pipeline_of(const experiment::Experiment& experiment, bool evaluation) {
  const auto& transforms = experiment.config.data.transforms;
  const auto& list = evaluation ? transforms.eval : transforms.train;
  return data::Pipeline({list.begin(), list.end()}, evaluation);
}

}  // namespace

std::optional<std::size_t> picture_input(const data::ModelSide& model) {
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i)
    if (const int rank = model.input_shapes[i].rank(); rank == 3 || rank == 4) return i;
  return std::nullopt;
}

SampleReader::SampleReader(const std::shared_ptr<const data::Source>& source, const experiment::Experiment& experiment,
                           const data::ModelSide& model, std::size_t input, bool evaluation)
    : batch_writer_(source, pipeline_of(experiment, evaluation), model, {}, experiment.config.seed,
                    data::BatchForm::kFloats),
      buffer_(batch_writer_.make_buffer(1, data::aligned_memory)),
      input_(input),
      elements_(static_cast<std::size_t>(model.input_shapes[input].elements())),
      ids_(model.input_type(input) == DType::kI32) {}

std::vector<float> SampleReader::read(std::int64_t index, std::int64_t epoch) {
  batch_writer_.fill(index, epoch, 0, scratch_, *buffer_);
  const std::byte* const row = buffer_->inputs[input_].data();
  if (!ids_) {
    const auto* const numbers = reinterpret_cast<const float*>(row);
    return {numbers, numbers + elements_};
  }
  const auto* const ids = reinterpret_cast<const std::int32_t*>(row);
  std::vector<float> values(elements_);
  std::ranges::transform(ids, ids + elements_, values.begin(), [](std::int32_t id) { return static_cast<float>(id); });
  return values;
}

Shades shades_of(const std::vector<std::vector<float>>& samples) {
  float low = samples.front().front(), high = low;
  for (const std::vector<float>& sample : samples) {
    const auto [least, most] = std::ranges::minmax_element(sample);
    low = std::min(low, *least);
    high = std::max(high, *most);
  }
  if (low >= 0 && high <= 1) return {0.0F, 1.0F};
  if (low >= 0 && high <= 255) return {0.0F, 255.0F};
  return {low, high};
}

std::vector<std::int64_t> shown_frames(const Shape& shape, std::int64_t most) {
  const std::int64_t all = data::is_clip(shape) ? shape[0] : 1, shown = std::min(most, all);
  std::vector<std::int64_t> frames;
  for (std::int64_t i = 0; i < shown; ++i) frames.push_back(i * all / shown);
  return frames;
}

std::vector<std::shared_ptr<const plot::RgbImage>> images_of(const std::vector<float>& sample, const Shape& shape,
                                                             const std::vector<std::int64_t>& frames,
                                                             const Shades& shades) {
  const Shape image = data::is_clip(shape) ? data::frame_shape(shape) : shape;
  std::vector<std::shared_ptr<const plot::RgbImage>> images;
  for (const std::int64_t frame : frames)
    images.push_back(std::make_shared<plot::RgbImage>(plot::image_of(sample.data() + frame * image.elements(), image[0],
                                                                     image[1], image[2], shades.first, shades.second)));
  return images;
}

}  // namespace dptrain::session
