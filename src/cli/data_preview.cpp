#include "cli/data_preview.h"

#include <algorithm>
#include <filesystem>

#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/text.h"
#include "data/filler.h"
#include "data/images/finish.h"
#include "data/slot.h"

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
  if (const auto input = picture_input(model)) return *input;
  const Shape shape = model.input_shapes.empty() ? Shape() : model.input_shapes.front();
  throw Error(ErrorKind::kUsage,
              fmt::format("data preview shows images and clips; the model's input is {}", shape.str()));
}

std::int64_t epochs_of(const PreviewOptions& options, const Shape& shape) {
  return options.evaluation ? 1 : options.epochs.value_or(data::is_clip(shape) ? 2 : 6);
}

std::vector<Line> lines(const DataSets& data, const NamedSet& set, const PreviewOptions& options) {
  const auto& transforms = data.experiment->config.data.transforms;
  const auto& list = options.evaluation ? transforms.eval : transforms.train;
  const data::Filler filler(set.source, data::Pipeline({list.begin(), list.end()}, options.evaluation), data.model, {},
                            data.experiment->config.seed, data::Delivery::kFloats);
  const auto slot = filler.make_slot(1, data::aligned_memory);
  data::Filler::Scratch scratch;
  const std::size_t input = picture_of(data.model);
  const std::int64_t elements = data.model.input_shapes[input].elements();
  const std::int64_t epochs = epochs_of(options, data.model.input_shapes[input]);
  const std::int64_t count = std::min(options.samples, set.source->size());
  std::vector<Line> found;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = i * set.source->size() / count;
    Line line{.label = label_of(*set.source, index), .place = place_of(*set.source, index), .values = {}};
    try {
      for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        filler.fill(index, epoch, 0, scratch, *slot);
        const std::byte* const row = slot->inputs[input].data();
        if (data.model.input_type(input) == DType::kI32) {
          const auto* const ids = reinterpret_cast<const std::int32_t*>(row);
          line.values.emplace_back(ids, ids + elements);
        } else {
          const auto* const numbers = reinterpret_cast<const float*>(row);
          line.values.emplace_back(numbers, numbers + elements);
        }
      }
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
std::pair<float, float> range_of(const std::vector<Line>& lines) {
  float low = lines.front().values.front().front(), high = low;
  for (const Line& line : lines)
    for (const auto& values : line.values) {
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      low = std::min(low, *least);
      high = std::max(high, *most);
    }
  if (low >= 0 && high <= 1) return {0.0F, 1.0F};
  if (low >= 0 && high <= 255) return {0.0F, 255.0F};
  log::info(fmt::format("values from {:.4g} to {:.4g} are shown as black to white", low, high));
  return {low, high};
}

using Shades = std::pair<float, float>;  // what is black and what is white

std::shared_ptr<const picture::RgbImage> image_of(const float* values, const Shape& image, const Shades& range) {
  return std::make_shared<picture::RgbImage>(
      picture::image_of(values, image[0], image[1], image[2], range.first, range.second));
}

/// One row per sample, one column per epoch.
picture::Sheet image_sheet(const std::vector<Line>& all, const Shape& shape, const Shades& range) {
  std::vector<std::string> titles;
  for (std::size_t epoch = 1; epoch <= all.front().values.size(); ++epoch)
    titles.push_back(fmt::format("epoch {}", epoch));
  std::vector<picture::SheetRow> rows;
  for (const Line& line : all) {
    picture::SheetRow row{.label = line.label, .note = line.place, .images = {}};
    for (const auto& values : line.values) row.images.push_back(image_of(values.data(), shape, range));
    rows.push_back(std::move(row));
  }
  return {.title = {}, .note = {}, .columns = std::move(titles), .rows = std::move(rows)};
}

/// One row per sample and epoch, one column per frame.
picture::Sheet clip_sheet(const std::vector<Line>& all, const Shape& shape, const Shades& range) {
  constexpr std::int64_t kMostFrames = 16;
  const Shape image = data::frame_shape(shape);
  const std::int64_t columns = std::min(kMostFrames, shape[0]);
  const auto frame_in = [&](std::int64_t column) { return column * shape[0] / columns; };
  std::vector<std::string> titles;
  for (std::int64_t column = 0; column < columns; ++column)
    titles.push_back(fmt::format("frame {}", frame_in(column) + 1));
  std::vector<picture::SheetRow> rows;
  for (const Line& line : all)
    for (std::size_t epoch = 0; epoch < line.values.size(); ++epoch) {
      const bool one = line.values.size() == 1;
      picture::SheetRow row{.label = one ? line.label : fmt::format("{}, epoch {}", line.label, epoch + 1),
                            .note = line.place,
                            .images = {}};
      for (std::int64_t column = 0; column < columns; ++column)
        row.images.push_back(image_of(line.values[epoch].data() + frame_in(column) * image.elements(), image, range));
      rows.push_back(std::move(row));
    }
  return {.title = {}, .note = {}, .columns = std::move(titles), .rows = std::move(rows)};
}

}  // namespace

std::optional<std::size_t> picture_input(const data::ModelSide& model) {
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i)
    if (const int rank = model.input_shapes[i].rank(); rank == 3 || rank == 4) return i;
  return std::nullopt;
}

picture::Sheet preview(const DataSets& data, const NamedSet& set, const PreviewOptions& options) {
  const Shape shape = data.model.input_shapes[picture_of(data.model)];
  const std::vector<Line> all = lines(data, set, options);
  const Shades range = range_of(all);
  picture::Sheet sheet = data::is_clip(shape) ? clip_sheet(all, shape, range) : image_sheet(all, shape, range);
  sheet.title = fmt::format("{}, {}", data.experiment->config.name, set.name);
  sheet.note =
      fmt::format("{}; {:.3g} is black, {:.3g} white",
                  options.evaluation ? "what the eval transforms make" : "as training draws them in each epoch",
                  range.first, range.second);
  return sheet;
}

}  // namespace dptrain::cli
