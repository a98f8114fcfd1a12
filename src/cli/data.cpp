// dptrain data: the contents of a data set, its statistics, and a preview of augmentation.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/format.h"
#include "core/log.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/images/pixel_finish.h"
#include "data/inspection.h"
#include "data/sources/dataset.h"
#include "data/transforms/normalization.h"
#include "experiment/model_side.h"
#include "init/draft.h"
#include "plot/contact_sheet.h"
#include "plot/file.h"
#include "session/sample_images.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

struct NamedSet {
  std::string name;  ///< "train", or the folder
  std::shared_ptr<const data::Source> source;
};

struct DataSets {
  std::optional<experiment::Experiment> experiment;  ///< if the path is a config
  data::ModelSide model;
  std::vector<NamedSet> sets;
};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::shared_ptr<const data::Source> open_folder(const std::string& path) {
  if (init::has_texts(path))
    throw Error(ErrorKind::kUsage,
                fmt::format("{0}: it is a folder of texts, which are read with the vocabulary of a config; 'dptrain "
                            "init --from {0}' writes a config to use with scan and stats",
                            path));
  return data::open_path(path);
}

/// Opens the data sets of a folder, a data file or a config, without a plan or a device. A folder contains images, or
/// clips if most of its files are. Sub-folders are classes, pictures and masks, or train with val or test; without any
/// there are no classes. `only`: the role to open, for a config. Throws Error{kUsage, kData}.
DataSets open_data_sets(const std::string& path, const experiment::Overrides& overrides,
                        const std::optional<std::string>& only) {
  DataSets found;
  if (is_folder(path)) {
    if (only) throw Error(ErrorKind::kUsage, fmt::format("--on applies to a config, but {} is a folder", path));
    const init::Roles roles = init::roles_in(path);
    if (roles.train.empty() || (roles.validation.empty() && roles.test.empty())) {  // "train" may be a class
      found.sets.push_back({path, open_folder(path)});
      return found;
    }
    for (const std::string& name : {roles.train, roles.validation, roles.test})
      if (!name.empty()) found.sets.push_back({init::below(path, name), open_folder(init::below(path, name))});
    return found;
  }
  if (auto source = data::open_path(path)) {
    found.sets.push_back({path, std::move(source)});
    return found;
  }
  found.experiment = experiment::load_with_warnings(path, overrides);
  found.model = experiment::model_side(*found.experiment);
  const experiment::DataSection& section = found.experiment->config.data;
  const data::Sources sources =
      data::open_sources({section.train, section.validation, section.test}, found.model, found.experiment->config.seed);
  for (const auto& [name, source] : {std::pair{"train", sources.train}, std::pair{"validation", sources.validation},
                                     std::pair{"test", sources.test}})
    if (source && (!only || *only == name)) found.sets.push_back({name, source});
  if (found.sets.empty())
    throw Error(ErrorKind::kUsage, only ? fmt::format("--on {}: the config has no data.{}", *only, *only)
                                        : fmt::format("{}: the config names no data set", path));
  return found;
}

struct PreviewOptions {
  std::int64_t samples = 8;            ///< evenly spread over the data set
  std::optional<std::int64_t> epochs;  ///< images of each sample, one per epoch; default: 6, for clips 2
  bool evaluation = false;             ///< shows each sample once, after the eval transforms
};

/// The model's input for one sample, in several epochs.
struct Line {
  std::string label, place;  ///< "#12 tulip", and the file name if the sample is a file
  std::vector<std::vector<float>> values;
  std::vector<plot::ClassMap> maps{};  ///< the label of each pixel; empty: the labels are not maps
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
  return holds_files(source) ? fs::path(source.label_place(index)).filename().string() : "";
}

/// Index of an input that is an image or a clip. Throws Error{kUsage} without one.
std::size_t picture_of(const data::ModelSide& model) {
  if (const auto input = session::picture_input(model)) return *input;
  const Shape shape = model.input_shapes.empty() ? Shape() : model.input_shapes.front();
  throw Error(ErrorKind::kUsage,
              fmt::format("data preview shows images and clips; the model's input is {}", shape.str()));
}

std::int64_t epochs_of(const PreviewOptions& options, const Shape& shape) {
  return options.evaluation ? 1 : options.epochs.value_or(data::is_clip(shape) ? 2 : 6);
}

using MapLabels = std::optional<session::MapLabels>;

std::vector<Line> lines(const DataSets& data, const NamedSet& set, const PreviewOptions& options,
                        const MapLabels& labels) {
  const std::size_t input = picture_of(data.model);
  session::SampleReader reader(set.source, *data.experiment, data.model, input, options.evaluation,
                               labels ? std::optional(labels->form) : std::nullopt);
  const std::int64_t epochs = epochs_of(options, data.model.input_shapes[input]);
  const std::int64_t count = std::min(options.samples, set.source->size());
  std::vector<Line> found;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = i * set.source->size() / count;
    Line line{.label = label_of(*set.source, index), .place = place_of(*set.source, index), .values = {}};
    try {
      for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
        line.values.push_back(reader.read(index, epoch));
        if (labels) line.maps.push_back(reader.label_map());
      }
    } catch (const data::SampleError& error) {
      log::warn(fmt::format("skipped: {}", error.what()));
      continue;
    }
    found.push_back(std::move(line));
  }
  if (found.empty()) throw Error(ErrorKind::kData, fmt::format("{}: none of the samples can be read", set.name));
  return found;
}

/// Values shown as black and white; logged unless they are 0..1 or 0..255.
session::Shades range_of(const std::vector<Line>& lines) {
  std::vector<std::vector<float>> all;
  for (const Line& line : lines) all.insert(all.end(), line.values.begin(), line.values.end());
  const session::Shades range = session::shades_of(all);
  if (range != session::Shades{0.0F, 1.0F} && range != session::Shades{0.0F, 255.0F})
    log::info(fmt::format("values from {:.4g} to {:.4g} are shown as black to white", range.first, range.second));
  return range;
}

/// The sample's frames, with the colors of its label map if it has one.
std::vector<std::shared_ptr<const plot::RgbImage>> drawn_frames(const Line& line, std::size_t epoch, const Shape& shape,
                                                                const std::vector<std::int64_t>& frames,
                                                                const session::Shades& range, const MapLabels& labels) {
  auto images = session::images_of(line.values[epoch], shape, frames, range);
  if (labels)
    for (auto& image : images)
      image = std::make_shared<plot::RgbImage>(
          plot::overlaid(*image, line.maps[epoch], session::class_colors(labels->names)));
  return images;
}

/// One row per sample, one column per epoch.
void add_images(const std::vector<Line>& all, const Shape& shape, const session::Shades& range, const MapLabels& labels,
                plot::Sheet& sheet) {
  for (std::size_t epoch = 1; epoch <= all.front().values.size(); ++epoch)
    sheet.columns.push_back(fmt::format("epoch {}", epoch));
  for (const Line& line : all) {
    sheet.rows.push_back({.label = line.label, .note = line.place, .images = {}});
    for (std::size_t epoch = 0; epoch < line.values.size(); ++epoch)
      sheet.rows.back().images.push_back(drawn_frames(line, epoch, shape, {0}, range, labels).front());
  }
}

/// One row per sample and epoch, one column per frame; at most 16 frames, evenly spread.
void add_clips(const std::vector<Line>& all, const Shape& shape, const session::Shades& range, const MapLabels& labels,
               plot::Sheet& sheet) {
  const std::vector<std::int64_t> frames = session::shown_frames(shape, 16);
  for (const std::int64_t frame : frames) sheet.columns.push_back(fmt::format("frame {}", frame + 1));
  for (const Line& line : all)
    for (std::size_t epoch = 0; epoch < line.values.size(); ++epoch) {
      const bool one = line.values.size() == 1;
      sheet.rows.push_back({.label = one ? line.label : fmt::format("{}, epoch {}", line.label, epoch + 1),
                            .note = line.place,
                            .images = drawn_frames(line, epoch, shape, frames, range, labels)});
    }
}

/// Draws the samples of the model's image or clip on one sheet. Skips unreadable samples with a warning.
plot::Sheet preview(const DataSets& data, const NamedSet& set, const PreviewOptions& options) {
  const Shape shape = data.model.input_shapes[picture_of(data.model)];
  const MapLabels labels = session::map_labels(*set.source, *data.experiment, data.model, options.evaluation);
  const std::vector<Line> all = lines(data, set, options, labels);
  const session::Shades range = range_of(all);
  plot::Sheet sheet{
      .title = fmt::format("{}, {}", data.experiment->config.name, set.name),
      .note = fmt::format("{}; {:.3g} is black, {:.3g} white",
                          options.evaluation ? "what the eval transforms make" : "as training draws them in each epoch",
                          range.first, range.second),
      .columns = {},
      .rows = {}};
  data::is_clip(shape) ? add_clips(all, shape, range, labels, sheet) : add_images(all, shape, range, labels, sheet);
  std::vector<const plot::ClassMap*> maps;
  for (const Line& line : all)
    for (const plot::ClassMap& map : line.maps) maps.push_back(&map);
  if (labels) sheet.legend = session::legend_of(maps, labels->names);
  return sheet;
}

struct DataCommandFlags {
  std::string action, path;
  std::optional<std::string> on, output;
  std::optional<std::int64_t> samples, epochs;
  ConfigFlags overrides;
  bool evaluation = false;
};

int run_scan(const DataCommandFlags& flags) {
  bool damaged = false;
  for (const NamedSet& set : open_data_sets(flags.path, flags.overrides.overrides(), flags.on).sets) {
    const data::DataScan found = data::scan(*set.source);
    print_fitted(data::scan_report(set.name, found));
    damaged = damaged || !found.damaged.empty();
  }
  return damaged ? static_cast<int>(ErrorKind::kData) : 0;
}

/// The config's eval transforms before the first Normalization, whose statistics `data stats` computes.
std::vector<config::Typed> before_normalization(const DataSets& data) {
  std::vector<config::Typed> front;
  if (!data.experiment) return front;
  for (const auto& transform : data.experiment->config.data.transforms.eval) {
    if (transform.get_if<data::NormalizationSpec>() != nullptr) break;
    front.push_back(transform);
  }
  return front;
}

/// Whether the model reads [steps, features] unchanged, so that the last axis has columns, as for a Normalization.
bool has_columns(const DataSets& data, const data::Source& source, int input) {
  const Shape shape = source.input_shape(input);
  return shape.rank() == 2 && std::ranges::find(data.model.input_shapes, shape) != data.model.input_shapes.end();
}

int run_stats(const DataCommandFlags& flags) {
  const DataSets data =
      open_data_sets(flags.path, flags.overrides.overrides(),
                     flags.on || is_folder(flags.path) ? flags.on : std::optional<std::string>("train"));
  const std::vector<config::Typed> front = before_normalization(data);
  std::vector<std::string> names;
  for (const config::Typed& transform : front) names.push_back(transform.name());
  const std::string values = names.empty() ? "values as they are stored" : "values after " + join(names, ", ");
  const data::Pipeline pipeline(front, true);
  for (const NamedSet& set : data.sets)
    if (const std::vector<std::string> columns = set.source->column_lines(); !columns.empty())
      print_fitted(
          fmt::format("{}: {}\n  {}\n", set.name, counted(set.source->size(), "sample"), join(columns, "\n  ")));
  for (const NamedSet& set : data.sets)
    for (int input = 0; input < set.source->inputs(); ++input) {
      if (!set.source->column_lines().empty() && set.source->input_shape(input).rank() == 1) continue;  // printed above
      const std::string of = set.source->input_name(input);
      print_fitted(data::stats_report(
          of.empty() ? set.name : set.name + " " + of,
          data::data_stats(*set.source, input, pipeline, has_columns(data, *set.source, input)), values));
    }
  for (const NamedSet& set : data.sets)
    for (int which = 0; which < set.source->labels(); ++which) {
      if (set.source->label_type(which) != data::LabelType::kMap) continue;
      const std::string label = set.source->label_name(which);
      print_fitted(data::pixel_classes_report(label.empty() ? set.name : set.name + " " + label,
                                              data::count_pixel_classes(*set.source, which),
                                              set.source->class_names(which)));
    }
  return 0;
}

/// Prints some rows of a table, evenly spread, and their encoded values.
void print_rows(const data::Source& source, std::int64_t count) {
  count = std::min(count, source.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t index = i * source.size() / count;
    std::string text = source.label_place(index);
    if (source.label_type() == data::LabelType::kClass)
      text += ": " + printable(source.class_names()[static_cast<std::size_t>(source.label_class(index))]);
    print_fitted(fmt::format("{}\n  {}\n", text, join(split(join(source.cell_lines(index), "\n"), '\n'), "\n  ")));
  }
}

int run_preview(const DataCommandFlags& flags) {
  if (is_folder(flags.path))
    throw Error(ErrorKind::kUsage,
                fmt::format("data preview shows what a config's transforms make; {} is a folder", flags.path));
  if (flags.output) plot::require_picture(*flags.output, "--output");
  const DataSets data = open_data_sets(flags.path, flags.overrides.overrides(), flags.on.value_or("train"));
  const data::Source& source = *data.sets.front().source;
  if (!source.column_lines().empty() && !session::picture_input(data.model)) {
    print_rows(source, flags.samples.value_or(3));
    return 0;
  }
  PreviewOptions options;
  options.samples = flags.samples.value_or(options.samples);
  options.epochs = flags.epochs;
  options.evaluation = flags.evaluation;
  const plot::Drawing drawing = plot::contact_sheet(preview(data, data.sets.front(), options));
  const std::string path = flags.output.value_or("preview.svg");
  plot::write(path, drawing);
  log::info(fmt::format("wrote {} ({:.0f} x {:.0f} pixels)", path, drawing.width(), drawing.height()));
  return 0;
}

int run(const DataCommandFlags& flags) {
  if (flags.action == "scan") return run_scan(flags);
  if (flags.action == "stats") return run_stats(flags);
  if (flags.action == "preview") return run_preview(flags);
  const std::vector<std::string> actions{"scan", "stats", "preview"};
  throw Error(ErrorKind::kUsage, fmt::format("data: expected scan, stats or preview, found '{}'{}", flags.action,
                                             did_you_mean(flags.action, actions)));
}

}  // namespace

void add_data(App& app) {
  const auto flags = std::make_shared<DataCommandFlags>();
  Command& command = app.command("data", "the contents and statistics of a data set, and the effect of augmentation");
  command.describe(
      "scan reads every sample: counts per class, formats, sizes, and every damaged file with place and reason; exit 3 "
      "if there is one. stats prints mean and deviation per channel, ready for a Normalization, and the "
      "sizes of images; the pixels of each class in masks; for a table the contents and the encoding of its columns. "
      "preview draws samples as training "
      "reads them in several epochs (a clip as a row of frames), and prints the rows of a table without images.");
  command.example("scan flowers/train")
      .example("stats configs/flowers_cnn.yaml")
      .example("preview configs/flowers_cnn.yaml --samples 12 --epochs 8 -o preview.svg");
  command.positional("scan|stats|preview", flags->action, "what to do");
  command.positional("DIR|FILE|CONFIG", flags->path,
                     "a folder of images or clips, in class folders or not, or one with train/ and val/; a CSV file; "
                     "or a config (preview: a config)");
  command.section("Data")
      .choice("--on", {"train", "validation", "test"}, flags->on,
              "which data set of the config (scan: all; stats and preview: train)")
      .integer("--samples", "N", flags->samples, "preview: rows, evenly spread over the data set (8)")
      .integer("--epochs", "N", flags->epochs, "preview: the same sample in so many epochs (6; of clips 2)")
      .flag("--eval-transforms", flags->evaluation, "preview: the eval transforms, once")
      .option("--output,-o", "FILE.svg", flags->output, "preview: an SVG file (preview.svg)");
  flags->overrides.add(command);
  command.run([flags](const Context&) { return run(*flags); });
}

}  // namespace dptrain::cli
