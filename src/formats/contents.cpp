#include "formats/contents.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/json_depth.h"
#include "core/zip.h"
#include "formats/hdf5/hdf5_object.h"
#include "formats/hdf5/hdf5_writer.h"
#include "formats/keras/keras_definition.h"
#include "formats/safetensors/safetensors.h"

namespace dptrain::formats {
namespace {

/// Whether the file has a seal (formats/hdf5/hdf5_writer.h). Throws Error{kCheckpoint} if the seal does not match.
bool check_seal(const Hdf5Bytes& file) {
  if (file.size() < kSealBytes) return false;
  const std::uint64_t end = file.size() - kSealBytes;
  std::array<std::byte, kSealBytes> found{};
  file.read(end, found);
  if (std::memcmp(found.data(), kSealWords.data(), kSealWords.size()) != 0) return false;
  if (seal(file.checksum(end)) != found) file.throw_damaged("its checksum does not match");
  return true;
}

/// Upper bound: deflate reduces trained weights to nine tenths and text to a tenth.
constexpr std::uint64_t kHighestRatio = 100;

std::string text_of(const Hdf5Bytes& member) {
  std::string text(static_cast<std::size_t>(member.size()), '\0');
  member.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

/// Stores the metadata of the file under the names of an HDF5 file, so that one reader serves both.
FileContents of_tensors(const std::shared_ptr<const Hdf5Bytes>& bytes) {
  const Safetensors file = read_safetensors(bytes);
  if (const auto format = file.metadata.find("format"); format != file.metadata.end() && format->second == "pt")
    bytes->refuse(
        "contains weights of PyTorch (format: pt), whose axes have another order; transpose them to the order of Keras "
        "and write the file again without this format");
  Hdf5Writer texts(0);
  for (const auto& [key, value] : file.metadata) {
    if (key == "model_config") texts.text_attribute("", key, value);
    if ((key == keras::kFittedStateKey || key == keras::kClassNamesOfOutputs) && !value.empty()) texts.text(key, value);
    if (key != keras::kClassNames) continue;
    const nlohmann::json names = nlohmann::json::parse(
        check_json_depth(value, ErrorKind::kCheckpoint, fmt::format("'{}': its class names", bytes->name())), nullptr,
        false);
    std::vector<std::string> list;
    for (const nlohmann::json& name : names)
      if (name.is_string()) list.push_back(name.get<std::string>());
    if (!list.empty()) texts.list_attribute("", key, list);
  }
  const auto image = texts.bytes();
  return {.root = Hdf5Group::root(checkpoint_bytes(bytes->name(), {image.begin(), image.end()})),
          .tensors = layers_of(file),
          .size = bytes->size()};
}

}  // namespace

FileContents FileContents::open(const std::string& path) {
  const std::shared_ptr<const Hdf5Bytes> bytes = checkpoint_file(path);
  if (const FileKind kind = kind_of_file(path); kind.use == FileKind::Use::kUnreadableModel && !is_safetensors(*bytes))
    throw Error(ErrorKind::kCheckpoint,
                fmt::format("'{}' is {}, which dptrain cannot read; write its weights in Keras's order of axes to a "
                            ".safetensors file",
                            path, kind.name));
  return from_bytes(bytes);
}

FileContents FileContents::from_bytes(std::shared_ptr<const Hdf5Bytes> bytes) {
  const std::uint64_t size = bytes->size();
  if (is_safetensors(*bytes)) return of_tensors(bytes);
  if (is_archive(*bytes)) {
    const auto config = archive_member(bytes, "config.json", kHighestRatio),
               weights = archive_member(bytes, "model.weights.h5", kHighestRatio);
    if (config == nullptr || weights == nullptr)
      bytes->refuse(fmt::format("is a zip archive without {}, which a .keras file contains",
                                config == nullptr ? "config.json" : "model.weights.h5"));
    const auto metadata = archive_member(bytes, "metadata.json", kHighestRatio);
    return {Hdf5Group::root(weights),
            false,
            text_of(*config),
            metadata == nullptr ? "" : text_of(*metadata),
            std::nullopt,
            size};
  }
  const bool sealed = check_seal(*bytes);
  return {.root = Hdf5Group::root(std::move(bytes)), .sealed = sealed, .size = size};
}

std::string FileContents::model_config() const {
  std::string text = archive_config.empty() ? root.text("model_config").value_or("") : archive_config;
  check_depth(text, "its model_config");
  return text;
}

CheckpointState FileContents::state() const {
  if (!has_state())
    file().refuse(
        "is a Keras file without the state of a training run (a model.h5, or written by Keras itself): it cannot be "
        "resumed; start from its weights with --init-from");
  CheckpointState state;
  state.resolved_config = resolved_config();
  state.trainer = trainer();
  state.class_names = class_names();
  state.fitted_state = fitted_state();
  for (const auto& [name, dataset] : arrays()) state.arrays.push_back({name, dataset.shape(), dataset.floats()});
  return state;
}

std::string FileContents::training_config() const {
  std::string text = root.text("training_config").value_or("");
  check_depth(text, "its training_config");
  return text;
}

std::string FileContents::metadata(const char* key) const {
  check_depth(archive_metadata, "its metadata");
  return text_at(nlohmann::json::parse(archive_metadata, nullptr, false), key);
}

std::string FileContents::keras_version() const {
  return archive_config.empty() ? root.text("keras_version").value_or("") : metadata("keras_version");
}

bool FileContents::by_dptrain() const {
  return sealed || (!archive_config.empty() && metadata("written_by") == "dptrain");
}

ClassNames FileContents::class_names() const {
  using namespace keras;
  if (!root.contains(kClassNamesOfOutputs)) return root.list(kClassNames);
  const std::string text = root.dataset(kClassNamesOfOutputs).text_value();
  check_depth(text, "its class names");
  const auto all = nlohmann::ordered_json::parse(text, nullptr, false);
  ClassNames names;
  try {
    for (const auto& [output, list] : all.items()) names.add(output, list.get<std::vector<std::string>>());
  } catch (const nlohmann::json::exception&) {
    file().throw_damaged("its class names are not lists of texts");
  }
  return names;
}

std::string FileContents::fitted_state() const {
  using keras::kFittedStateKey;
  std::string text = root.contains(kFittedStateKey) ? root.dataset(kFittedStateKey).text_value() : "";
  check_depth(text, "the fitted state of its data");
  return text;
}

std::string FileContents::trainer() const {
  std::string text = state_text("trainer");
  check_depth(text, "the state of its trainer");
  return text;
}

void FileContents::check_depth(const std::string& json, const char* what) const {
  check_json_depth(json, ErrorKind::kCheckpoint, fmt::format("'{}': {}", file().name(), what));
}

std::string FileContents::resolved_config() const { return state_text("resolved_config"); }

std::string FileContents::state_text(const char* name) const {
  const Hdf5Group group = root.group(kStateGroup);
  const auto format = group.number("format");
  if (!format) file().throw_damaged("its state has no format number");
  if (*format > kStateFormat)
    file().refuse(fmt::format("was written by a newer dptrain ({}): its state has format {}, this one reads up to {}",
                              group.text("dptrain_version").value_or("version unknown"), *format, kStateFormat));
  return group.contains(name) ? group.dataset(name).text_value() : "";
}

std::vector<std::pair<std::string, Hdf5Dataset>> FileContents::arrays() const {
  std::vector<std::pair<std::string, Hdf5Dataset>> all;
  if (!has_state()) return all;
  const std::optional<Hdf5Group> group = root.group(kStateGroup).find_group("arrays");
  if (!group) return all;
  for (std::string& name : group->list("names")) {
    Hdf5Dataset dataset = group->dataset(name);
    all.emplace_back(std::move(name), std::move(dataset));
  }
  return all;
}

}  // namespace dptrain::formats
