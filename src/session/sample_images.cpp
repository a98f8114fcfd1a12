#include "session/sample_images.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "data/batch_buffer.h"
#include "data/images/mask.h"
#include "data/images/pixel_finish.h"
#include "data/labels.h"
#include "experiment/objectives.h"
#include "session/session_data.h"

namespace dptrain::session {
namespace {

data::Pipeline pipeline_of(const experiment::Experiment& experiment, bool evaluation) {
  const auto& transforms = experiment.config.data.transforms;
  const auto& list = evaluation ? transforms.eval : transforms.train;
  return data::Pipeline({list.begin(), list.end()}, evaluation);
}

/// The source with label maps if the transforms move their pixels, as in a session.
std::shared_ptr<const data::Source> with_map(const std::shared_ptr<const data::Source>& source,
                                             const data::Pipeline& pipeline,
                                             const std::optional<data::LabelForm>& map) {
  if (!map || !pipeline.moves_pixels()) return source;
  return data::with_label_map(source, data::find_label(*source, map->output));
}

std::vector<data::LabelForm> forms_of(const std::optional<data::LabelForm>& map) {
  return map ? std::vector{*map} : std::vector<data::LabelForm>{};
}

/// The class of a dense label: the threshold 0.5 of one value, else the largest of several. Negative or NaN: ignored.
std::int32_t class_of(const float* row, std::int64_t width) {
  if (!(*row >= 0)) return plot::ClassMap::kIgnored;
  if (width == 1) return *row >= 0.5F ? 1 : 0;
  return static_cast<std::int32_t>(std::max_element(row, row + width) - row);
}

bool is_background(const std::string& name) {
  std::string letters;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name == "0" || letters == "background" || letters == "bg";
}

}  // namespace

std::optional<MapLabels> map_labels(const data::Source& source, const experiment::Experiment& experiment,
                                    const data::ModelSide& model, bool evaluation) {
  std::vector<plan::Objective> objectives = experiment::objectives(experiment.config.train, experiment.graph);
  const std::vector<data::LabelForm> forms = label_forms(experiment, objectives, model);
  const auto found = std::ranges::find_if(forms, [](const data::LabelForm& form) { return form.map.rank() > 0; });
  if (found == forms.end() || source.labels() == 0) return std::nullopt;
  const int which = data::find_label(source, found->output);
  if (source.label_type(which) == data::LabelType::kClass) return std::nullopt;
  const auto i = static_cast<std::size_t>(found - forms.begin());
  objectives[i].labels =
      label_kind(objectives[i].loss, model.outputs[i], source, which, pipeline_of(experiment, evaluation).mixes());
  MapLabels labels{.form = label_forms(experiment, objectives, model)[i], .names = source.class_names(which)};
  const std::int64_t classes = std::max<std::int64_t>(2, model.outputs[i].back());
  while (static_cast<std::int64_t>(labels.names.size()) < classes)
    labels.names.push_back(std::to_string(labels.names.size()));
  return labels;
}

std::optional<std::size_t> picture_input(const data::ModelSide& model) {
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i)
    if (const int rank = model.input_shapes[i].rank(); rank == 3 || rank == 4) return i;
  return std::nullopt;
}

SampleReader::SampleReader(const std::shared_ptr<const data::Source>& source, const experiment::Experiment& experiment,
                           const data::ModelSide& model, std::size_t input, bool evaluation,
                           const std::optional<data::LabelForm>& map)
    : map_(map),
      batch_writer_(with_map(source, pipeline_of(experiment, evaluation), map), pipeline_of(experiment, evaluation),
                    model, forms_of(map), experiment.config.seed, data::BatchForm::kFloats),
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

plot::ClassMap SampleReader::label_map() const {
  plot::ClassMap map{.height = map_->map[0], .width = map_->map[1]};
  const std::byte* const labels = buffer_->labels.front().data();
  const std::int64_t width = map_->width / map_->positions;
  for (std::int64_t i = 0; i < map_->positions; ++i) {
    const std::int32_t number = map_->kind == nn::LabelKind::kClass
                                    ? reinterpret_cast<const std::int32_t*>(labels)[i]
                                    : class_of(reinterpret_cast<const float*>(labels) + i * width, width);
    map.classes.push_back(number == map_->ignored ? plot::ClassMap::kIgnored : number);
  }
  return map;
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

std::vector<std::optional<plot::Rgb>> class_colors(const std::vector<std::string>& names) {
  constexpr std::size_t kColors = 256;
  const std::vector<plot::Rgb> palette = data::mask_palette(kColors);
  std::vector<std::optional<plot::Rgb>> colors;
  for (std::size_t c = 0; c < names.size(); ++c)
    colors.emplace_back(palette[c < kColors ? c : 1 + (c - 1) % (kColors - 1)]);
  if (!names.empty() && is_background(names.front())) colors.front().reset();
  return colors;
}

std::vector<plot::ClassColor> legend_of(const std::vector<const plot::ClassMap*>& maps,
                                        const std::vector<std::string>& names) {
  std::set<std::int32_t> found;
  for (const plot::ClassMap* const map : maps) found.insert(map->classes.begin(), map->classes.end());
  const std::vector<std::optional<plot::Rgb>> colors = class_colors(names);
  std::vector<plot::ClassColor> legend;
  for (const std::int32_t c : found)
    if (const auto i = static_cast<std::size_t>(c); c >= 0 && i < names.size())
      legend.push_back({.name = names[i], .color = colors[i]});
  if (found.contains(plot::ClassMap::kIgnored)) legend.push_back({.name = "ignored", .hatched = true});
  return legend;
}

}  // namespace dptrain::session
