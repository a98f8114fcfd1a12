#include "cli/predict_input.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/kept_columns.h"
#include "cli/predict_join.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/text.h"
#include "data/encoders/files.h"
#include "data/images/image_info.h"
#include "data/sources/csv_learned.h"
#include "data/sources/csv_stream.h"
#include "data/sources/hdf5_dataset.h"
#include "data/sources/idx_source.h"
#include "data/sources/image_folder.h"
#include "data/sources/numpy.h"
#include "data/sources/text_inputs.h"
#include "data/sources/video.h"
#include "experiment/model_side.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

/// Of a table: what is in memory at a time.
constexpr std::int64_t kRowsAtOnce = 65'536;

enum class ArrayFile { kNone, kIdx, kNpy, kHdf5, kZip };

/// IDX: zero, zero, a type, a number of axes; or a gzip file, which images are not.
ArrayFile array_file(const std::string& path) {
  std::array<unsigned char, 4> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  if (file.gcount() < static_cast<std::streamsize>(head.size())) return ArrayFile::kNone;
  if (head == std::array<unsigned char, 4>{0x93, 'N', 'U', 'M'}) return ArrayFile::kNpy;
  if (head == std::array<unsigned char, 4>{0x89, 'H', 'D', 'F'}) return ArrayFile::kHdf5;
  if (head == std::array<unsigned char, 4>{'P', 'K', 3, 4}) return ArrayFile::kZip;
  const bool idx = head[0] == 0 && head[1] == 0 && head[2] >= 0x08 && head[2] <= 0x0E && head[3] >= 1 && head[3] <= 8;
  return idx || (head[0] == 0x1F && head[1] == 0x8B) ? ArrayFile::kIdx : ArrayFile::kNone;
}

Shape first_input(const experiment::Experiment& experiment) {
  const graph::Graph& graph = experiment.graph;
  return graph.nodes[static_cast<std::size_t>(graph.inputs.front())].output();
}

data::ColorMode color_of(const experiment::Experiment& experiment) {
  const Shape input = first_input(experiment);
  const std::int64_t channels = input.rank() == 3 || input.rank() == 4 ? input.back() : 0;
  if (channels == 1) return data::ColorMode::kGrayscale;
  if (channels == 3) return data::ColorMode::kRgb;
  if (channels == 4) return data::ColorMode::kRgba;
  throw Error(
      ErrorKind::kUsage,
      fmt::format("the model takes {}, not images or clips of 1, 3 or 4 channels; --input must be an IDX or .npy file",
                  input.str()));
}

/// The data set of that type that the model was trained or judged on; null: none.
template <class Spec>
const Spec* known_set(const experiment::Experiment& experiment) {
  const experiment::DataSection& section = experiment.config.data;
  for (const config::Typed* spec : {&section.test, &section.validation, &section.train})
    if (*spec)
      if (const Spec* known = spec->get_if<Spec>()) return known;
  return nullptr;
}

data::OnError on_error_of(const data::OnError& known, const std::optional<std::string>& flag) {
  data::OnError policy = flag ? data::OnError{.skip = *flag == "skip"} : known;
  policy.is_flag = true;
  return policy;
}

/// As the data set of clips, or, without one, as many frames of the size that the model's input has.
data::VideoSpec clip_options(const experiment::Experiment& experiment, const Shape& input,
                             const std::optional<std::string>& on_error) {
  data::VideoSpec options;
  if (const auto* const known = known_set<data::VideoSpec>(experiment)) {
    options = *known;
  } else {
    options.frames = input[0];
    options.image_size = {input[1], input[2]};
    options.color_mode = color_of(experiment);
  }
  options.on_error = on_error_of(options.on_error, on_error);
  return options;
}

data::ImageFolderSpec image_options(const experiment::Experiment& experiment,
                                    const std::optional<std::string>& on_error) {
  data::ImageFolderSpec options;
  const auto* const known = known_set<data::ImageFolderSpec>(experiment);
  if (known != nullptr) {
    options.color_mode = known->color_mode;
    options.exif = known->exif;
    options.on_error = known->on_error;
  } else {
    options.color_mode = color_of(experiment);
  }
  options.on_error = on_error_of(options.on_error, on_error);
  return options;
}

/// A source that is all there is.
PredictInput whole(std::shared_ptr<const data::Source> source, const std::string& key = "index") {
  PredictInput input;
  input.key = key;
  input.samples = source->size();
  input.fingerprint = source->fingerprint();
  input.next = [source = std::move(source)]() mutable { return std::exchange(source, nullptr); };
  return input;
}

bool is_picture(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored) || !data::format_of_name(path).empty();
}

/// Reads images for a model of a table whose only input is a column of image paths. `picture`: one of `paths`.
PredictInput pictures_of_table(const std::vector<std::string>& paths, const std::string& picture,
                               const std::string& learned, const std::optional<std::string>& on_error) {
  std::vector<std::string> names;
  const data::ImageSpec* images = nullptr;
  const data::CsvLearned table = data::CsvLearned::of(learned);
  for (const data::CsvLearned::Column& column : table.columns) {
    names.push_back(printable(column.name));
    images = column.encoder.get_if<data::ImageSpec>();
  }
  if (names.size() != 1 || images == nullptr)
    throw Error(ErrorKind::kUsage, fmt::format("--input {}: expected a table with the columns {}, found {}", picture,
                                               join(names, ", "), fs::is_directory(picture) ? "a folder" : "an image"));
  data::ImageFolderSpec options;
  options.color_mode = images->color_mode;
  options.exif = images->exif;
  options.on_error = on_error_of(options.on_error, on_error);
  return whole(data::open_images(paths, options), "file");
}

/// Files one behind the other, each as a stream.
PredictInput table_rows(const std::vector<std::string>& paths, data::CSVSpec spec,
                        const experiment::Experiment& experiment, const std::string& learned,
                        const std::optional<std::string>& on_error, table::KeptColumns kept) {
  data::ModelSide model = experiment::input_side(experiment.graph);
  model.learned = learned;
  spec.on_error = on_error_of(spec.on_error, on_error);
  struct State {
    std::vector<std::string> paths;
    std::size_t next = 0;
    std::unique_ptr<data::CsvStream> stream{};
  };
  const auto state = std::make_shared<State>(State{paths});
  const auto open_next = [state, spec, model](const table::KeptColumns& keep) {
    state->stream = std::make_unique<data::CsvStream>(spec, model, state->paths[state->next++], keep);
  };
  open_next(kept);
  kept = {.all = false, .names = state->stream->kept()};
  PredictInput input;
  input.key = "place";
  input.fingerprint = join(paths, ", ");
  input.kept = kept.names;
  input.kept_field = [state](std::int64_t sample, std::size_t which) {
    return state->stream->kept_field(sample, which);
  };
  input.next = [state, open_next, kept]() -> std::shared_ptr<const data::Source> {
    for (;;) {
      if (!state->stream) {
        if (state->next == state->paths.size()) return nullptr;
        open_next(kept);
      }
      if (auto rows = state->stream->next(kRowsAtOnce)) return rows;
      state->stream.reset();
    }
  };
  input.take_bad = [state] { return state->stream ? state->stream->take_bad() : std::vector<data::BadSample>{}; };
  return input;
}

/// As known_set(), or the series if the model was trained on windows.
template <class Spec>
const Spec* known_arrays(const experiment::Experiment& experiment) {
  const auto* const windows = known_set<data::WindowsSpec>(experiment);
  return windows != nullptr ? windows->of.get_if<Spec>() : known_set<Spec>(experiment);
}

/// The arrays that the model's data set names, of another file.
template <class Spec>
std::shared_ptr<const data::Source> arrays_like(const Spec* known, const std::string& path,
                                                const experiment::Experiment& experiment, const char* type) {
  if (known == nullptr)
    throw Error(ErrorKind::kUsage, fmt::format("--input {}: which arrays of it are the inputs is said by the model's "
                                               "data set, and this one was not trained on {}",
                                               path, type));
  Spec spec = *known;
  spec.file = config::Path{path};
  spec.labels = {};
  spec.sample_weight = {};
  data::DatasetConfig only;
  only.train = data::dataset_family().make(std::move(spec));
  return data::open_sources(only, experiment::input_side(experiment.graph), 0).train;
}

std::shared_ptr<const data::Source> open_arrays(ArrayFile kind, const std::string& path,
                                                const experiment::Experiment& experiment) {
  const data::ModelSide side = experiment::input_side(experiment.graph);
  switch (kind) {
    case ArrayFile::kIdx: return data::open_idx_inputs(path, side);
    case ArrayFile::kHdf5:
      return arrays_like(known_arrays<data::HDF5DatasetSpec>(experiment), path, experiment, "HDF5Dataset");
    case ArrayFile::kZip: return arrays_like(known_arrays<data::NumpySpec>(experiment), path, experiment, "Numpy");
    default: return data::open_numpy_inputs(path, side);
  }
}

PredictInput of_arrays(ArrayFile kind, const std::string& path, const experiment::Experiment& experiment) {
  const std::shared_ptr<const data::Source> arrays = open_arrays(kind, path, experiment);
  const auto* const windows = known_set<data::WindowsSpec>(experiment);
  if (windows == nullptr) return whole(arrays);
  PredictInput input = whole(data::windows_of_inputs(arrays, *windows, experiment::input_side(experiment.graph)));
  input.windows = windows;
  return input;
}

const char* name_of(ArrayFile kind) {
  switch (kind) {
    case ArrayFile::kIdx: return "an IDX file";
    case ArrayFile::kHdf5: return "an HDF5 file";
    case ArrayFile::kZip: return "a .npz file";
    default: return "a .npy file";
  }
}

void require_alone(const std::vector<std::string>& paths, const std::string& path, const char* what) {
  if (paths.size() > 1)
    throw Error(ErrorKind::kUsage,
                fmt::format("--input {}: {} must be the only input, found {}", path, what, paths.size()));
}

/// Refuses files that are no samples, or samples of another kind than those the model was trained on.
void require_samples(const std::vector<std::string>& paths, const experiment::Experiment& experiment) {
  const bool table = known_set<data::CSVSpec>(experiment) != nullptr;
  const bool texts = known_set<data::TextSpec>(experiment) != nullptr;
  const bool several =
      known_set<data::JoinSpec>(experiment) != nullptr || known_set<data::WindowsSpec>(experiment) != nullptr;
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!fs::is_regular_file(path, ignored)) continue;
    const FileKind kind = kind_of_file(path);
    const bool hdf5 = kind.use == FileKind::Use::kHdf5;
    const bool config = path.ends_with(".yaml") || path.ends_with(".yml");
    const auto refuse = [&](const std::string& what, const char* wanted) {
      throw Error(ErrorKind::kUsage, fmt::format("--input {}: it is {}, and this model takes {}", path, what, wanted));
    };
    const char* const wanted = table ? "rows of a CSV file" : texts ? "files of texts" : "images, clips or arrays";
    if (config) refuse("a config", wanted);
    if (kind.use == FileKind::Use::kUnreadableModel || kind.use == FileKind::Use::kModel) refuse(kind.name, wanted);
    if (several) continue;
    const bool arrays = kind.use == FileKind::Use::kArrays || hdf5;
    if (table || texts ? arrays : kind.use == FileKind::Use::kTable) refuse(kind.name, wanted);
    if (texts && kind.use == FileKind::Use::kPicture) refuse(kind.name, wanted);
  }
}

}  // namespace

PredictInput open_predict_input(const std::vector<std::string>& paths, const experiment::Experiment& experiment,
                                const std::string& learned, const std::optional<std::string>& on_error,
                                const std::vector<std::string>& keep) {
  const table::KeptColumns kept = kept_columns(keep);
  require_samples(paths, experiment);
  if (const auto* const table = known_set<data::CSVSpec>(experiment)) {
    const auto picture = std::ranges::find_if(paths, is_picture);
    if (picture == paths.end()) return table_rows(paths, *table, experiment, learned, on_error, kept);
    return pictures_of_table(paths, *picture, learned, on_error);
  }
  if (const auto* const join = known_set<data::JoinSpec>(experiment))
    return joined_input(paths, *join, experiment, learned, on_error, kept);
  if (!keep.empty())
    throw Error(ErrorKind::kUsage, "--keep is about columns of tables, and this model was not trained on one");
  if (const auto* const texts = known_set<data::TextSpec>(experiment))
    return whole(data::open_texts(paths, *texts, learned), "text");
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (path == "-")
      throw Error(ErrorKind::kUsage,
                  "--input -: only rows of tables and lines of text come in by stdin, and this model takes neither");
    const ArrayFile kind = fs::is_regular_file(path, ignored) ? array_file(path) : ArrayFile::kNone;
    if (kind == ArrayFile::kNone) continue;
    require_alone(paths, path, name_of(kind));
    if (on_error)
      throw Error(ErrorKind::kUsage, fmt::format("--on-error is about files of images or clips and rows of tables, and "
                                                 "--input is {}",
                                                 name_of(kind)));
    return of_arrays(kind, path, experiment);
  }
  if (const Shape input = first_input(experiment); input.rank() == 4)
    return whole(data::open_clips(paths, clip_options(experiment, input, on_error)), "file");
  return whole(data::open_images(paths, image_options(experiment, on_error)), "file");
}

}  // namespace dptrain::cli
