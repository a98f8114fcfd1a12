#include "data/preparation.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/format.h"
#include "data/encoders/encoder.h"
#include "data/sources/csv_layout.h"
#include "data/sources/image_folder.h"
#include "data/sources/join.h"
#include "data/sources/text.h"
#include "data/sources/video.h"
#include "data/table/table.h"
#include "data/transform.h"

namespace dptrain::data {
namespace {

using formats::PreparedInput;

[[noreturn]] void reject(const std::string& what, const std::string& why) {
  throw Error(ErrorKind::kUsage,
              fmt::format("--with-transforms: {} {}; without it the file contains the model alone", what, why));
}

template <class Spec>
const Spec* find_set(const std::vector<const config::Typed*>& datasets) {
  for (const config::Typed* set : datasets)
    if (*set)
      if (const Spec* found = set->get_if<Spec>()) return found;
  return nullptr;
}

/// Converts transforms to steps. Merges consecutive maps of channels, as Pipeline does.
std::vector<formats::ImageStep> steps_of(const std::vector<config::Typed>& transforms) {
  std::vector<formats::ImageStep> steps;
  for (const config::Typed& spec : transforms) {
    const auto transform = make_transform(spec);
    if (const auto map = transform->channel_map()) {
      ChannelMap all = *map;
      if (auto* before = steps.empty() ? nullptr : std::get_if<formats::MapChannels>(&steps.back())) {
        all = *map * ChannelMap{before->scale, before->offset, before->reverse};
        steps.pop_back();
      }
      steps.emplace_back(formats::MapChannels{all.scale, all.offset, all.reverse});
    } else if (auto step = transform->image_step()) {
      steps.push_back(*std::move(step));
    } else {
      reject(fmt::format("data.transforms.eval has {}, which", spec.name()), "cannot be exported");
    }
  }
  return steps;
}

/// Samples of arrays in the model's shape, or of any size if the transforms fix the size.
PreparedInput of_arrays(const Shape& wanted, bool bytes, bool any_size, std::vector<formats::ImageStep> steps) {
  std::vector<std::int64_t> raw(wanted.dims().begin(), wanted.dims().end());
  if (any_size && raw.size() >= 3) raw[raw.size() - 3] = raw[raw.size() - 2] = 0;
  return {.raw = Shape(raw), .bytes = bytes, .columns = {}, .steps = std::move(steps)};
}

class FittedTable {
 public:
  FittedTable(const CSVSpec& spec, const std::string& fitted_state) : layout_(CsvLayout::parse(fitted_state)) {
    missing_ = spec.missing_values.value_or(table::default_missing_words());
  }

  const ColumnGroups::Group& group(const ModelSide& model, std::size_t which) const {
    const auto& groups = layout_.inputs;
    if (groups.size() == 1 && groups[0].name.empty() && model.input_shapes.size() == 1) return groups[0];
    const auto found = std::ranges::find(groups, model.input_names[which], &ColumnGroups::Group::name);
    if (found == groups.end())
      throw Error(ErrorKind::kData,
                  fmt::format("the table has no input '{}', which the model expects; add it to inputs",
                              model.input_names[which]));
    return *found;
  }

  const CsvLayout::Column& column(const std::string& name) const { return layout_.column(name); }

  PreparedInput input(const ColumnGroups::Group& group) const {
    PreparedInput input{.raw = {}, .bytes = false, .columns = {}, .steps = {}, .missing = missing_};
    for (const std::string& name : group.columns) {
      const CsvLayout::Column& column = layout_.column(name);
      const auto encoder = restore(column.encoder, nlohmann::json::parse(column.fitted_state));
      auto prepared = encoder->prepared(name);
      if (!prepared)
        reject(fmt::format("column '{}' is encoded by {}, which", name, config::to_json(column.encoder.write())),
               "cannot be exported");
      input.columns.push_back(*std::move(prepared));
    }
    return input;
  }

 private:
  CsvLayout layout_;
  std::vector<std::string> missing_;
};

}  // namespace

formats::Preparation preparation(const std::vector<const config::Typed*>& datasets,
                                 const std::vector<config::Typed>& transforms, const ModelSide& model) {
  if (find_set<TextSpec>(datasets) != nullptr)
    reject("the model reads texts, whose tokenization", "cannot be exported");
  if (find_set<JoinSpec>(datasets) != nullptr)
    reject("the model reads several data sets side by side, which", "cannot be exported");
  const CSVSpec* const csv = find_set<CSVSpec>(datasets);
  if (csv != nullptr && model.fitted_state.empty())
    throw Error(
        ErrorKind::kCheckpoint,
        "--with-transforms: the columns of the table are not fitted; export a run's checkpoint instead of a config");
  std::optional<FittedTable> fitted_table;
  if (csv != nullptr) fitted_table.emplace(*csv, model.fitted_state);
  const std::vector<formats::ImageStep> steps = steps_of(transforms);
  const bool any_size = Pipeline(transforms, true).fixes_size();
  const bool files = find_set<ImageFolderSpec>(datasets) != nullptr || find_set<VideoSpec>(datasets) != nullptr;
  formats::Preparation all;
  for (std::size_t i = 0; i < model.input_shapes.size(); ++i) {
    const bool floats = model.input_type(i) == DType::kF32;
    const auto own = floats && model.is_transformed(i) ? steps : std::vector<formats::ImageStep>();
    const bool bytes = files || expect_pixels(transforms);
    const ColumnGroups::Group* const group = fitted_table ? &fitted_table->group(model, i) : nullptr;
    if (group != nullptr && !reads_files(fitted_table->column(group->columns.front()).encoder)) {
      all.inputs.emplace_back(fitted_table->input(*group)).value().steps = own;
    } else if (floats && model.is_transformed(i)) {
      all.inputs.emplace_back(of_arrays(model.input_shapes[i], bytes || group != nullptr, any_size, own));
    } else {
      all.inputs.emplace_back(std::nullopt);
    }
  }
  return all;
}

}  // namespace dptrain::data
