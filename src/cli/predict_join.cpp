#include "cli/predict_join.h"

#include <limits>
#include <utility>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/csv_stream.h"
#include "data/sources/hdf5_dataset.h"
#include "data/sources/idx_source.h"
#include "data/sources/image_folder.h"
#include "data/sources/numpy.h"
#include "data/sources/text_inputs.h"
#include "data/sources/video.h"
#include "experiment/model_side.h"

namespace dptrain::cli {
namespace {

using Part = data::JoinParts::Part;
using SourcePointer = std::shared_ptr<const data::Source>;

/// A limit is one of a whole data set.
data::OnError without_limit(const data::OnError& known, const std::optional<std::string>& flag) {
  return {.skip = flag ? *flag == "skip" : known.skip, .is_flag = true};
}

[[noreturn]] void fail_part(const Part& part, const std::string& path, const std::string& words) {
  throw Error(ErrorKind::kUsage,
              fmt::format("--input {}: stands for the {} of the model's Join, {}", path, part.set.name(), words));
}

/// The name of a part's only input, and the input itself.
struct OpenedPart {
  std::string name;
  SourcePointer source;
  const char* key = "index";
};

/// Opens the parts, one path each.
class JoinOpener {
 public:
  JoinOpener(data::ModelSide model, std::optional<std::string> on_error, table::KeptColumns kept)
      : model_(std::move(model)), on_error_(std::move(on_error)), kept_(std::move(kept)) {}

  OpenedPart open(const Part& part, const std::string& path, const std::string& learned) {
    const config::Typed& set = part.set;
    if (path == "-") fail_part(part, path, "which is read from a file");
    if (const auto* const spec = set.get_if<data::CSVSpec>())
      return {part.name, table(*spec, side_of(part, learned), path), "place"};
    if (const auto* const spec = set.get_if<data::ImageFolderSpec>()) {
      data::ImageFolderSpec images = *spec;
      images.on_error = without_limit(spec->on_error, on_error_);
      return {part.name, data::open_images({path}, images), "file"};
    }
    if (const auto* const spec = set.get_if<data::VideoSpec>()) {
      data::VideoSpec clips = *spec;
      clips.on_error = without_limit(spec->on_error, on_error_);
      return {part.name, data::open_clips({path}, clips), "file"};
    }
    if (const auto* const spec = set.get_if<data::TextSpec>())
      return {part.name, data::open_texts({path}, *spec, learned), "text"};
    return arrays(part, path);
  }

  /// Of the first table; null: there is none.
  const std::shared_ptr<data::CsvStream>& first_table() const { return first_table_; }

 private:
  data::ModelSide side_of(const Part& part, const std::string& learned) const {
    data::ModelSide side = data::model_of_part(model_, part.name);
    side.learned = learned;
    return side;
  }

  /// All rows of the file at once: the other parts have theirs, too.
  SourcePointer table(data::CSVSpec spec, const data::ModelSide& side, const std::string& path) {
    spec.on_error = without_limit(spec.on_error, on_error_);
    const bool first = first_table_ == nullptr;
    auto stream = std::make_shared<data::CsvStream>(spec, side, path, first ? kept_ : table::KeptColumns{});
    SourcePointer rows = stream->next(std::numeric_limits<std::int64_t>::max());
    if (rows == nullptr) throw Error(ErrorKind::kData, path + ": has no rows");
    if (const auto bad = stream->take_bad(); !bad.empty())
      throw Error(ErrorKind::kData, fmt::format("{}; left out, it would shift the rows behind it against the other "
                                                "inputs of the Join; repair it",
                                                bad.front().str()));
    if (first) first_table_ = std::move(stream);
    return rows;
  }

  OpenedPart arrays(const Part& part, const std::string& path) const {
    if (const auto* const spec = part.set.get_if<data::HDF5DatasetSpec>()) {
      data::HDF5DatasetSpec other = *spec;
      other.file = config::Path{path};
      other.labels = {};
      other.sample_weight = {};
      return {part.name, opened(data::dataset_family().make(std::move(other)), part)};
    }
    if (const auto* const spec = part.set.get_if<data::NumpySpec>()) {
      data::NumpySpec other = *spec;
      other.labels = {};
      other.sample_weight = {};
      if (other.file)
        other.file = config::Path{path};
      else if (other.inputs.entries.size() == 1)
        other.inputs.entries.front().path = config::Path{path};
      else
        fail_part(part, path, "whose inputs are several files; put them into one .npz archive");
      return {part.name, opened(data::dataset_family().make(std::move(other)), part)};
    }
    if (const auto* const spec = part.set.get_if<data::IDXSpec>()) {
      if (spec->inputs.paths.size() > 1) fail_part(part, path, "whose inputs are several files; use HDF5Dataset");
      const std::string& name = spec->inputs.paths.front().first;
      return {name.empty() ? part.name : name, data::open_idx_inputs(path, data::model_of_part(model_, part.name))};
    }
    fail_part(part, path, "which predict does not read");
  }
  SourcePointer opened(const config::Typed& set, const Part& part) const {
    return data::open_data_set(set, data::model_of_part(model_, part.name), data::Role::kTest);
  }

  data::ModelSide model_;
  std::optional<std::string> on_error_;
  table::KeptColumns kept_;
  std::shared_ptr<data::CsvStream> first_table_;
};

std::string part_list(const data::JoinSpec& join) {
  std::vector<std::string> words;
  for (const Part& part : join.of.parts)
    words.push_back(part.name.empty() ? part.set.name() : fmt::format("{} ({})", part.name, part.set.name()));
  return dptrain::join(words, ", ");
}

}  // namespace

PredictInput joined_input(const std::vector<std::string>& paths, const data::JoinSpec& join,
                          const experiment::Experiment& experiment, const std::string& learned,
                          const std::optional<std::string>& on_error, const table::KeptColumns& kept) {
  const std::vector<Part>& parts = join.of.parts;
  if (paths.size() != parts.size())
    throw Error(
        ErrorKind::kUsage,
        fmt::format("the model was trained on a Join; give --input {} times, in the order of its parts: {}; found "
                    "{}",
                    parts.size(), part_list(join), paths.size()));
  const std::vector<std::string> texts = data::learned_of_parts(learned, parts.size());
  JoinOpener opener(experiment::input_side(experiment.graph), on_error, kept);
  std::vector<data::JoinedPart> opened;
  PredictInput input;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    OpenedPart part = opener.open(parts[i], paths[i], texts[i]);
    if (i == 0) input.key = part.key;
    opened.push_back({std::move(part.name), paths[i], std::move(part.source)});
  }
  const auto table = opener.first_table();
  if (!kept.names.empty() || kept.all) {
    if (table == nullptr)
      throw Error(ErrorKind::kUsage, "--keep is about columns of tables, and no part of the model's Join is one");
    input.kept = table->kept();
    input.kept_field = [table](std::int64_t sample, std::size_t which) { return table->kept_field(sample, which); };
  }
  SourcePointer source = data::join_sources(std::move(opened), std::nullopt);
  input.samples = source->size();
  input.fingerprint = source->fingerprint();
  input.next = [source = std::move(source)]() mutable { return std::exchange(source, nullptr); };
  return input;
}

}  // namespace dptrain::cli
