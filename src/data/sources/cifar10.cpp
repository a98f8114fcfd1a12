// CIFAR-10 in its binary version (Krizhevsky 2009): six files of 10,000 records, each a label and three planes of 32 x
// 32 bytes: red, green, blue.

#include "data/sources/cifar10.h"

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/fixed_records.h"

namespace dptrain::config {
template <>
struct EnumNames<data::CifarSubset> {
  static constexpr std::array names{std::pair{data::CifarSubset::kTrain, "train"},
                                    std::pair{data::CifarSubset::kTest, "test"}};
};
}  // namespace dptrain::config

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;

constexpr const char* kArchiveFolder = "cifar-10-batches-bin";  // in the archive as it is distributed
constexpr std::int64_t kSide = 32, kChannels = 3, kClasses = 10;

/// The folder with the files: `directory`, or the archive's folder in it.
fs::path folder_of(const CIFAR10Spec& spec) {
  const fs::path given = spec.directory.value;
  std::error_code ignored;
  if (!fs::exists(given / "test_batch.bin", ignored) && fs::is_directory(given / kArchiveFolder, ignored))
    return given / kArchiveFolder;
  return given;
}

std::vector<std::string> files_of(const fs::path& folder, CifarSubset subset) {
  std::vector<std::string> files;
  if (subset == CifarSubset::kTest) return {(folder / "test_batch.bin").string()};
  for (int i = 1; i <= 5; ++i) files.push_back((folder / fmt::format("data_batch_{}.bin", i)).string());
  return files;
}

/// Reads one name per line; empty if the file is missing.
std::vector<std::string> names_in(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);)
    if (std::string name = trim(line); !name.empty()) names.push_back(std::move(name));
  return names;
}

std::shared_ptr<const Source> open_cifar10(const CIFAR10Spec& spec, const ModelSide&, Role) {
  const fs::path folder = folder_of(spec);
  RecordLayout layout;
  layout.shape = Shape{kSide, kSide, kChannels};
  layout.channels_first = true;
  layout.record = 1 + layout.shape.elements();
  std::vector<std::string> names = spec.class_names.first();
  if (names.empty()) names = names_in(folder / "batches.meta.txt");
  auto source = open_records(files_of(folder, spec.subset), layout, std::move(names), "cifar10");
  for (std::int64_t i = 0; i < source->size(); ++i)
    if (source->label_class(i) >= kClasses)
      throw Error(ErrorKind::kData, fmt::format("{}: label {}; the binary version of CIFAR-10 has 0 to 9 at that place",
                                                source->label_place(i), source->label_class(i)));
  return source;
}

}  // namespace

namespace {

const RegisteredDataset kCifar10Set = dataset_def<CIFAR10Spec>(
    config::Schema::of<CIFAR10Spec>("CIFAR10")
        .doc("the binary version of CIFAR-10, with the class names in `batches.meta.txt`")
        .positional(
            key("directory", &CIFAR10Spec::directory).required().doc("folder with data_batch_1.bin ... test_batch.bin"))
        .key(key("subset", &CIFAR10Spec::subset).doc("train: the five data batches; test: the sixth file")),
    open_cifar10, [](const CIFAR10Spec& spec) { return std::vector{spec.directory}; });

}  // namespace

}  // namespace dptrain::data
