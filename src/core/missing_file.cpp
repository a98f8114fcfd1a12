#include "core/missing_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "core/format.h"
#include "core/text.h"

namespace dptrain {

std::string what_to_try_for(const std::string& missing) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path file(missing);
  if (!file.has_filename()) file = file.parent_path();  // a folder written with a slash at its end
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, error))
    return fmt::format("; the folder '{}' is not there either: a relative path starts at the config's folder",
                       folder.string());
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  return did_you_mean(file.filename().string(), names);
}

namespace {

using Use = FileKind::Use;

std::string head_of(const std::string& path) {
  std::array<char, 128> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), head.size());
  return {head.data(), static_cast<std::size_t>(file.gcount())};
}

/// By the name of the first member, at the beginning of the file.
FileKind kind_of_zip(std::string_view head) {
  const auto has = [&](const char* word) { return head.find(word) != std::string_view::npos; };
  if (has("data.pkl") || has("/version") || has("/byteorder")) return {Use::kUnreadableModel, "a PyTorch file"};
  if (has(".npy")) return {Use::kArrays, "a file of NumPy arrays"};
  if (has("metadata.json") || has("config.json") || has("model.weights.h5")) return {Use::kModel, "a Keras model"};
  if (has("[Content_Types].xml")) return {Use::kOther, "an Excel workbook"};
  return {Use::kOther, "a zip archive"};
}

}  // namespace

FileKind kind_of_file(const std::string& path) {
  const std::string head = head_of(path);
  if (head.empty()) return {};
  std::string suffix = std::filesystem::path(path).extension().string();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (head.starts_with("PK\x03\x04")) return kind_of_zip(head);
  if (head.starts_with("\x89HDF")) return {Use::kHdf5, "an HDF5 file"};
  if (head.starts_with("\x93NUMPY")) return {Use::kArrays, "a NumPy array"};
  if (head.starts_with("\x89PNG") || head.starts_with("\xFF\xD8\xFF")) return {Use::kPicture, "a picture"};
  if (suffix == ".safetensors") return {Use::kModel, "a safetensors file"};
  if (suffix == ".onnx") return {Use::kUnreadableModel, "an ONNX model"};
  if (suffix == ".tflite") return {Use::kUnreadableModel, "a TensorFlow Lite model"};
  if (suffix == ".pt" || suffix == ".pth" || suffix == ".ckpt") return {Use::kUnreadableModel, "a PyTorch file"};
  if (head.starts_with("\x80\x02") || suffix == ".pkl" || suffix == ".joblib")
    return {Use::kUnreadableModel, "a pickle of Python"};
  if (suffix == ".csv" || suffix == ".tsv") return {Use::kTable, "a table"};
  return {};
}

}  // namespace dptrain
