#include "cli/predict_input.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/format.h"
#include "data/sources/idx_source.h"
#include "data/sources/image_folder.h"
#include "data/sources/numpy.h"
#include "data/sources/video.h"
#include "experiment/model_side.h"

namespace dptrain::cli {
namespace fs = std::filesystem;
namespace {

enum class ArrayFile { kNone, kIdx, kNpy };

/// IDX: zero, zero, a type, a number of axes; or a gzip file, which images are not.
ArrayFile array_file(const std::string& path) {
  std::array<unsigned char, 4> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), static_cast<std::streamsize>(head.size()));
  if (file.gcount() < static_cast<std::streamsize>(head.size())) return ArrayFile::kNone;
  if (head == std::array<unsigned char, 4>{0x93, 'N', 'U', 'M'}) return ArrayFile::kNpy;
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
  return flag ? data::OnError{.skip = *flag == "skip"} : known;
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

}  // namespace

PredictInput open_predict_input(const std::vector<std::string>& paths, const experiment::Experiment& experiment,
                                const std::optional<std::string>& on_error) {
  std::error_code ignored;
  for (const std::string& path : paths) {
    const ArrayFile kind = fs::is_regular_file(path, ignored) ? array_file(path) : ArrayFile::kNone;
    if (kind == ArrayFile::kNone) continue;
    const char* const what = kind == ArrayFile::kIdx ? "an IDX file" : "a .npy file";
    if (paths.size() > 1)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--input {}: {} stands alone, found {} inputs", path, what, paths.size()));
    if (on_error)
      throw Error(ErrorKind::kUsage,
                  fmt::format("--on-error is about files of images or clips, and --input is {}", what));
    const data::ModelSide side = experiment::input_side(experiment.graph);
    return {.source = kind == ArrayFile::kIdx ? data::open_idx_inputs(path, side) : data::open_numpy_inputs(path, side),
            .files = false};
  }
  if (const Shape input = first_input(experiment); input.rank() == 4)
    return {.source = data::open_clips(paths, clip_options(experiment, input, on_error)), .files = true};
  return {.source = data::open_images(paths, image_options(experiment, on_error)), .files = true};
}

}  // namespace dptrain::cli
