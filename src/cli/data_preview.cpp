#include "cli/data_preview.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/images/finish.h"
#include "session/sample_images.h"

namespace dptrain::cli {
namespace {

/// What the model gets of one sample, in several epochs.
struct Line {
  std::string label, place;  ///< "#12 tulip", and the file where it is one
  std::vector<std::vector<float>> values;
};

std::string label_of(const data::Source& source, std::int64_t index) {
  std::string label = fmt::format("#{}", index);
  if (source.label_type() == data::LabelType::kClass) {
    const std::vector<std::string> names = source.class_names();
    const auto c = static_cast<std::size_t>(source.label_class(index));
    label += " " + (c < names.size() ? names[c] : std::to_string(c));
  }
  return label;
}

std::string place_of(const data::Source& source, std::int64_t index) {
  return holds_files(source) ? std::filesystem::path(source.label_place(index)).filename().string() : "";
}

/// An input that is an image, or a clip.
std::size_t picture_of(const data::ModelSide& model) {
  if (const auto input = session::picture_input(model)) return *input;
  const Shape shape = model.input_shapes.empty() ? Shape() : model.input_shapes.front();
  throw Error(ErrorKind::kUsage,
              fmt::format("data preview shows images and clips; the model's input is {}", shape.str()));
}

std::int64_t epochs_of(const PreviewOptions& options, const Shape& shape) {
  return options.evaluation ? 1 : options.epochs.value_or(data::is_clip(shape) ? 2 : 6);
}

std::vector<Line> lines(const DataSets& data, const NamedSet& set, const PreviewOptions& options) {
  const std::size_t input = picture_of(data.model);
  session::SampleReader reader(set.source, *data.experiment, data.model, input, options.evaluation);
  const std::int64_t epochs = epochs_of(options, data.model.input_shapes[input]);
  const std::int64_t count = std::min(options.samples, set.source->size());
  std::vector<Line> found;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = i * set.source->size() / count;
    Line line{.label = label_of(*set.source, index), .place = place_of(*set.source, index), .values = {}};
    try {
      for (std::int64_t epoch = 0; epoch < epochs; ++epoch) line.values.push_back(reader.read(index, epoch));
    } catch (const data::SampleError& error) {
      log::warn(fmt::format("left out: {}", error.what()));
      continue;
    }
    found.push_back(std::move(line));
  }
  if (found.empty()) throw Error(ErrorKind::kData, fmt::format("{}: none of the samples can be read", set.name));
  return found;
}

/// What is shown as black and as white.
session::Shades range_of(const std::vector<Line>& lines) {
  std::vector<std::vector<float>> all;
  for (const Line& line : lines) all.insert(all.end(), line.values.begin(), line.values.end());
  const session::Shades range = session::shades_of(all);
  if (range != session::Shades{0.0F, 1.0F} && range != session::Shades{0.0F, 255.0F})
    log::info(fmt::format("values from {:.4g} to {:.4g} are shown as black to white", range.first, range.second));
  return range;
}

/// One row per sample, one column per epoch.
picture::Sheet image_sheet(const std::vector<Line>& all, const Shape& shape, const session::Shades& range) {
  std::vector<std::string> titles;
  for (std::size_t epoch = 1; epoch <= all.front().values.size(); ++epoch)
    titles.push_back(fmt::format("epoch {}", epoch));
  std::vector<picture::SheetRow> rows;
  for (const Line& line : all) {
    picture::SheetRow row{.label = line.label, .note = line.place, .images = {}};
    for (const auto& values : line.values) row.images.push_back(session::images_of(values, shape, {0}, range).front());
    rows.push_back(std::move(row));
  }
  return {.title = {}, .note = {}, .columns = std::move(titles), .rows = std::move(rows)};
}

/// One row per sample and epoch, one column per frame.
picture::Sheet clip_sheet(const std::vector<Line>& all, const Shape& shape, const session::Shades& range) {
  const std::vector<std::int64_t> frames = session::shown_frames(shape, 16);
  std::vector<std::string> titles;
  for (const std::int64_t frame : frames) titles.push_back(fmt::format("frame {}", frame + 1));
  std::vector<picture::SheetRow> rows;
  for (const Line& line : all)
    for (std::size_t epoch = 0; epoch < line.values.size(); ++epoch) {
      const bool one = line.values.size() == 1;
      picture::SheetRow row{.label = one ? line.label : fmt::format("{}, epoch {}", line.label, epoch + 1),
                            .note = line.place,
                            .images = session::images_of(line.values[epoch], shape, frames, range)};
      rows.push_back(std::move(row));
    }
  return {.title = {}, .note = {}, .columns = std::move(titles), .rows = std::move(rows)};
}

}  // namespace

picture::Sheet preview(const DataSets& data, const NamedSet& set, const PreviewOptions& options) {
  const Shape shape = data.model.input_shapes[picture_of(data.model)];
  const std::vector<Line> all = lines(data, set, options);
  const session::Shades range = range_of(all);
  picture::Sheet sheet = data::is_clip(shape) ? clip_sheet(all, shape, range) : image_sheet(all, shape, range);
  sheet.title = fmt::format("{}, {}", data.experiment->config.name, set.name);
  sheet.note =
      fmt::format("{}; {:.3g} is black, {:.3g} white",
                  options.evaluation ? "what the eval transforms make" : "as training draws them in each epoch",
                  range.first, range.second);
  return sheet;
}

}  // namespace dptrain::cli
