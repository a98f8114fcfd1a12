#include "data/sources/predict.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "data/sources/dataset.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;

/// Spec of the data set in `sets` with this definition; null: none.
const void* spec_of(const DatasetDef& def, const std::vector<config::Typed>& sets) {
  for (const config::Typed& set : sets)
    if (&set.def() == &def) return set.spec();
  return nullptr;
}

/// The data set that reads all files; null: none.
const config::Typed* trained_set(const std::vector<config::Typed>& sets) {
  const auto found = std::ranges::find_if(sets, [](const config::Typed& set) {
    return def_of(set).open_for_predict && def_of(set).predict.needs_trained_model();
  });
  return found == sets.end() ? nullptr : &*found;
}

/// First definition with the property that can open files for predict; null: none.
template <class Property>
const DatasetDef* find_definition(const Property& property) {
  for (const config::TypeDef* type : dataset_family().types())
    if (const auto& def = static_cast<const DatasetDef&>(*type); def.open_for_predict && property(def)) return &def;
  return nullptr;
}

/// Throws Error{kUsage} for configs, models, and files of a refused kind.
void require_samples(const std::vector<std::string>& paths, const PredictTraits& traits) {
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!fs::is_regular_file(path, ignored)) continue;
    const FileKind kind = kind_of_file(path);
    const bool config = path.ends_with(".yaml") || path.ends_with(".yml");
    const bool model = kind.use == FileKind::Use::kUnreadableModel || kind.use == FileKind::Use::kModel;
    if (config || model || std::ranges::find(traits.refused, kind.use) != traits.refused.end())
      throw Error(ErrorKind::kUsage, fmt::format("--input {}: it is {}, but this model expects {}", path,
                                                 config ? "a config" : kind.name, traits.expected_input));
  }
}

}  // namespace

OnError PredictFiles::policy(const OnError& known) const {
  if (is_part) return {.skip = skip.value_or(known.skip), .is_flag = true};
  OnError policy = skip ? OnError{.skip = *skip} : known;
  policy.is_flag = true;
  return policy;
}

std::optional<FileHead> head_of(const std::string& path) {
  FileHead head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  if (file.gcount() < static_cast<std::streamsize>(head.size())) return std::nullopt;
  return head;
}

PredictSource whole_source(std::shared_ptr<const Source> source, const std::string& key) {
  PredictSource input;
  input.key = key;
  input.samples = source->size();
  input.fingerprint = source->fingerprint();
  input.next = [source = std::move(source)]() mutable { return std::exchange(source, nullptr); };
  return input;
}

void require_trained(const void* spec, const PredictFiles& files, const char* type) {
  if (spec == nullptr)
    throw Error(ErrorKind::kUsage, fmt::format("--input {}: the data set of the model's training names the input "
                                               "arrays, but this model was not trained on {}",
                                               files.paths.front(), type));
}

PredictSource open_arrays(const config::Typed& set, const PredictFiles& files, const ModelSide& model) {
  if (files.is_part) return whole_source(open_data_set(set, model, Role::kTest));
  return whole_source(open_sources({.train = set, .validation = {}, .test = {}}, model, 0).train);
}

ColorMode color_of_input(const ModelSide& model) {
  const Shape& input = model.input_shapes.front();
  const std::int64_t channels = input.rank() == 3 || input.rank() == 4 ? input.back() : 0;
  if (channels == 1) return ColorMode::kGrayscale;
  if (channels == 3) return ColorMode::kRgb;
  if (channels == 4) return ColorMode::kRgba;
  throw Error(
      ErrorKind::kUsage,
      fmt::format(
          "the model expects {}, not images or clips of 1, 3 or 4 channels; --input must be an IDX or .npy file",
          input.str()));
}

void fail_part(const std::string& path, const std::string& type, const std::string& words) {
  throw Error(ErrorKind::kUsage,
              fmt::format("--input {}: this input is the {} part of the model's Join, {}", path, type, words));
}

PredictSource open_by_format(const PredictFiles& files, const ModelSide& model) {
  std::error_code ignored;
  for (const std::string& path : files.paths) {
    if (path == "-")
      throw Error(
          ErrorKind::kUsage,
          "--input -: only rows of tables and lines of text can be read from stdin, and this model expects neither");
    const auto head = fs::is_regular_file(path, ignored) ? head_of(path) : std::nullopt;
    if (!head) continue;
    const DatasetDef* const def = find_definition(
        [&](const DatasetDef& one) { return one.predict.format != nullptr && !one.predict.format(*head).empty(); });
    if (def == nullptr) continue;
    const std::string format = def->predict.format(*head);
    if (files.paths.size() > 1)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--input {}: {} must be the only input, found {}", path, format, files.paths.size()));
    if (files.skip)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--on-error applies to files of images or clips and to rows of tables, but --input is {}",
                              format));
    return def->open_for_predict(spec_of(*def, files.sets), files, model);
  }
  const DatasetDef* const def =
      find_definition([&](const DatasetDef& one) { return one.predict.fits != nullptr && one.predict.fits(model); });
  if (def == nullptr) throw Error(ErrorKind::kInternal, "no data set reads files for this model");
  return def->open_for_predict(spec_of(*def, files.sets), files, model);
}

PredictSource open_for_predict(const PredictFiles& files, const ModelSide& model) {
  const config::Typed* const set = trained_set(files.sets);
  const PredictTraits traits = set != nullptr ? def_of(*set).predict : PredictTraits{};
  require_samples(files.paths, traits);
  if ((files.passthrough.all || !files.passthrough.names.empty()) && !traits.supports_passthrough)
    throw Error(ErrorKind::kUsage, "--keep copies columns of tables, and this model was not trained on a table");
  if (set == nullptr) return open_by_format(files, model);
  return def_of(*set).open_for_predict(set->spec(), files, model);
}

}  // namespace dptrain::data
