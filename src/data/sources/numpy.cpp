// NumPy arrays as a Source. Small arrays are kept in memory. Larger ones are read row by row during training, so memory
// does not grow with the file. Labels are read when the file is opened.

#include "data/sources/numpy.h"

#include <algorithm>
#include <utility>

#include "config/json_fragment.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/text.h"
#include "core/zip.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/labelled_source.h"
#include "data/sources/npy.h"

namespace dptrain::config {
namespace {

bool read_entry(const Node& node, Reader& reader, const std::string& name, data::NumpyArrays& out) {
  const std::optional<std::string> text = reader.text(node);
  if (!text) return false;
  data::NumpyArrays::Entry entry{.name = name, .array = {}, .path = {}};
  if (!text->ends_with(".npy"))
    entry.array = *text;
  else if (!Value<Path>::read(node, reader, entry.path))
    return false;
  out.entries.push_back(std::move(entry));
  return true;
}

Node entry_text(const data::NumpyArrays::Entry& entry) {
  return Node::text(entry.array.empty() ? entry.path.value : entry.array);
}

}  // namespace

bool Value<data::NumpyArrays>::read(const Node& node, Reader& reader, data::NumpyArrays& out) {
  out.entries.clear();
  const Node found = reader.substituted(node);
  if (found.is_null()) return true;
  if (!found.is_map()) return read_entry(node, reader, "", out);
  if (found.entries().empty()) return reader.expected(found, "an array, or a mapping from names to arrays"), false;
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    good = read_entry(entry.value, reader, entry.key, out) && good;
  }
  return good;
}

Node Value<data::NumpyArrays>::write(const data::NumpyArrays& value) {
  if (value.entries.empty()) return {};
  if (value.entries.size() == 1 && value.entries.front().name.empty()) return entry_text(value.entries.front());
  Node map = Node::map();
  for (const auto& entry : value.entries) map.set(entry.name, entry_text(entry));
  return map;
}

Node Value<data::NumpyArrays>::schema() {
  return fragment::any_of({Value<std::string>::schema(), detail::map_schema(Value<std::string>::schema())});
}

}  // namespace dptrain::config

namespace dptrain::data {
namespace {

/// Samples in memory take at most 1 / kPartInMemory of the memory that is free when the data set is opened.
constexpr std::uint64_t kPartInMemory = 4;

/// Opens files, and the archive once for all of its arrays.
class NpyFiles {
 public:
  explicit NpyFiles(const std::optional<config::Path>& archive) {
    if (!archive) return;
    name_ = archive->value;
    archive_ = FileBytes::from_file(name_, array_file_errors());
    if (!is_archive(*archive_))
      throw Error(ErrorKind::kData,
                  name_ + ": not a .npz archive: it does not begin as zip files do; numpy.savez writes such files");
  }
  NpyArray open(const NumpyArrays::Entry& entry) const {
    if (entry.array.empty())
      return parse_npy(FileBytes::from_file(entry.path.value, array_file_errors()), entry.path.value);
    auto bytes = archive_member(archive_, entry.array + ".npy");
    if (!bytes) fail_missing(entry.array);
    return parse_npy(std::move(bytes), fmt::format("{}, array '{}'", name_, entry.array));
  }

 private:
  [[noreturn]] void fail_missing(const std::string& array) const {
    std::vector<std::string> names;
    for (const std::string& name : archive_names(*archive_))
      if (name.ends_with(".npy")) names.push_back(name.substr(0, name.size() - 4));
    throw Error(ErrorKind::kData, fmt::format("{}: no array '{}'; it has {}{}", name_, printable(array),
                                              printable(join(names, ", ")), did_you_mean(array, names)));
  }

  std::string name_;
  std::shared_ptr<const FileBytes> archive_;
};

/// Integers, one per row, are classes; all else is a row of floats.
LabelColumn npy_labels(const std::string& name, const NpyArray& array) {
  LabelColumn labels{.name = name, .place = array.place, .type = LabelType::kClass, .width = array.row.elements()};
  if (array.is_integer() && labels.width == 1) {
    labels.classes.resize(static_cast<std::size_t>(array.rows));
    read_npy(array, 0, array.rows, labels.classes.data());
    return labels;
  }
  labels.type = LabelType::kValues;
  labels.values.resize(static_cast<std::size_t>(array.rows * labels.width));
  read_npy(array, 0, array.rows, labels.values.data());
  return labels;
}

/// One input: its array in the file, and its values in one of the three vectors if they are kept in memory.
struct NumpyInput {
  std::string name;
  NpyArray array;
  bool ids = false;  ///< whether the model reads integers
  std::vector<std::uint8_t> u8{};
  std::vector<float> f32{};
  std::vector<std::int32_t> i32{};

  std::uint64_t bytes_in_memory() const {
    return static_cast<std::uint64_t>(array.rows * array.row.elements()) * (array.is_bytes() ? 1 : sizeof(float));
  }
  void load() {
    const auto all = static_cast<std::size_t>(array.rows * array.row.elements());
    const auto fill = [&](auto& numbers) {
      reserve_huge(numbers, all);
      numbers.resize(all);
      read_npy(array, 0, array.rows, numbers.data());
    };
    if (array.is_bytes())
      fill(u8);
    else
      ids ? fill(i32) : fill(f32);
    if (!array.is_integer() || ids) array.bytes.reset();  // read_exact() needs the integers
  }
};

std::vector<config::Path> numpy_paths(const NumpySpec& spec) {
  std::vector<config::Path> paths;
  if (spec.file) paths.push_back(*spec.file);
  for (const NumpyArrays* arrays : {&spec.inputs, &spec.labels, &spec.sample_weight})
    for (const auto& entry : arrays->entries)
      if (entry.array.empty()) paths.push_back(entry.path);
  return paths;
}

class NumpySource final : public LabelledSource {
 public:
  NumpySource(const NumpySpec& spec, const ModelSide& model, std::uint64_t max_bytes_in_memory)
      : LabelledSource("row", spec.class_names) {
    const NpyFiles files(spec.file);
    for (const auto& entry : spec.inputs.entries) {
      inputs_.push_back({.name = entry.name,
                         .array = files.open(entry),
                         .ids = model.is_id_input(entry.name, spec.inputs.entries.size())});
      check_rows(inputs_.back().array, "inputs");
    }
    place_ = inputs_.front().array.place;
    const auto labels_of = [&](const NumpyArrays::Entry& entry, const char* what) {
      const NpyArray array = files.open(entry);
      check_rows(array, what);
      return npy_labels(entry.name, array);
    };
    for (const auto& entry : spec.labels.entries) {
      labels_.push_back(labels_of(entry, "labels"));
      check_finite(labels_.back(), "row");
    }
    for (const auto& entry : spec.sample_weight.entries)
      sample_weights_ = sample_weights_of(labels_of(entry, "sample weights"), "row");
    for (const config::Path& path : numpy_paths(spec)) files_.push_back(path.value);
    set_fingerprint();
    std::uint64_t bytes = 0;
    for (const NumpyInput& input : inputs_) bytes += input.bytes_in_memory();
    if (bytes <= max_bytes_in_memory)
      for (NumpyInput& input : inputs_) input.load();
  }

  std::int64_t size() const override { return inputs_.front().array.rows; }
  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return at(input).name; }
  Shape input_shape(int input) const override { return at(input).array.row; }

  void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
    const NumpyInput& in = at(input);
    out.shape = in.array.row;
    out.type = in.array.is_bytes() ? DType::kU8 : DType::kF32;
    out.type == DType::kU8 ? copy(in, in.u8, index, out.u8) : copy(in, in.f32, index, out.f32);
  }
  bool can_read_exact(int input, DType type) const override {
    return type == DType::kI32 && at(input).array.is_integer();
  }
  void read_exact(std::int64_t index, int input, DType, void* out) const override {
    const NumpyInput& in = at(input);
    const std::int64_t elements = in.array.row.elements();
    auto* const ids = static_cast<std::int32_t*>(out);
    if (!in.u8.empty()) {
      std::copy_n(in.u8.begin() + index * elements, elements, ids);
    } else if (!in.i32.empty()) {
      std::copy_n(in.i32.begin() + index * elements, elements, ids);
    } else {
      read_npy(in.array, index, 1, ids);
    }
  }
  const std::uint8_t* u8_rows(int input) const override { return at(input).u8.empty() ? nullptr : at(input).u8.data(); }
  const float* f32_rows(int input) const override { return at(input).f32.empty() ? nullptr : at(input).f32.data(); }
  std::string cache_key() const override {
    std::uint64_t hash = kHashStart;
    for (const std::string& file : files_) hash = hash_stamp(file, hash);
    std::string arrays;
    for (const NumpyInput& input : inputs_) arrays += input.array.place + ", ";
    return fmt::format("{}, {}files {:016x}", fingerprint_, arrays, hash);
  }

 private:
  const NumpyInput& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }

  template <class T>
  static void copy(const NumpyInput& in, const std::vector<T>& kept, std::int64_t index, std::vector<T>& out) {
    const std::int64_t elements = in.array.row.elements();
    if (!kept.empty()) {
      out.assign(kept.begin() + index * elements, kept.begin() + (index + 1) * elements);
    } else if (!in.i32.empty()) {
      out.assign(in.i32.begin() + index * elements, in.i32.begin() + (index + 1) * elements);
    } else {
      out.resize(static_cast<std::size_t>(elements));
      read_npy(in.array, index, 1, out.data());
    }
  }

  void check_rows(const NpyArray& array, const char* what) const {
    if (array.rows != size())
      throw Error(ErrorKind::kData, fmt::format("{} has {} rows, {} of {} has {}; expected the same number",
                                                inputs_.front().array.place, size(), what, array.place, array.rows));
  }

  /// Includes shapes, types, labels, and the first and last row of every input.
  void set_fingerprint() {
    std::uint64_t hash = kHashStart;
    for (const LabelColumn& labels : labels_) {
      hash = hash_bytes(labels.classes.data(), labels.classes.size() * sizeof(std::int32_t), hash);
      hash = hash_bytes(labels.values.data(), labels.values.size() * sizeof(float), hash);
    }
    hash = hash_bytes(sample_weights_.data(), sample_weights_.size() * sizeof(float), hash);
    fingerprint_ = fmt::format("numpy:{}", size());
    for (const NumpyInput& input : inputs_) {
      const NpyArray& array = input.array;
      const std::uint64_t bytes = static_cast<std::uint64_t>(array.row.elements()) * array.element_bytes;
      for (const std::int64_t which : {std::int64_t{0}, array.rows - 1}) {
        const auto row = array.bytes->read(array.data + static_cast<std::uint64_t>(which) * bytes, bytes);
        hash = hash_bytes(row.data(), row.size(), hash);
      }
      fingerprint_ += fmt::format(":{}:{}", array.row.str(), array.type());
    }
    fingerprint_ += fmt::format(":{:016x}", hash);
  }

  std::vector<NumpyInput> inputs_;
  std::vector<std::string> files_;
};

std::string check_numpy(const NumpySpec& spec) {
  if (spec.sample_weight.entries.size() > 1) return "sample_weight must be one array, found several";
  for (const NumpyArrays* arrays : {&spec.inputs, &spec.labels, &spec.sample_weight})
    for (const auto& entry : arrays->entries)
      if (!entry.array.empty() && !spec.file)
        return fmt::format("'{}' is not a .npy file; if it is an array of an archive, add `file: data.npz`",
                           entry.array);
  return "";
}

std::uint64_t memory_limit() { return machine::memory().available / kPartInMemory; }

bool is_npy(const FileHead& head) { return head == FileHead{0x93, 'N', 'U', 'M'}; }
bool is_zip(const FileHead& head) { return head == FileHead{'P', 'K', 3, 4}; }

/// A .npy file is the only input. For an archive, the inputs are the arrays that the data set names.
PredictSource predict_numpy(const NumpySpec* spec, const PredictFiles& files, const ModelSide& model) {
  const std::string& path = files.paths.front();
  if (!files.is_part && is_npy(head_of(path).value_or(FileHead{}))) return whole_source(open_numpy_inputs(path, model));
  require_trained(spec, files, "Numpy");
  NumpySpec other = *spec;
  other.labels = {};
  other.sample_weight = {};
  if (other.file || !files.is_part)
    other.file = config::Path{path};
  else if (other.inputs.entries.size() == 1)
    other.inputs.entries.front().path = config::Path{path};
  else
    fail_part(path, "Numpy", "whose inputs are several files; put them into one .npz archive");
  return open_arrays(dataset_family().make(std::move(other)), files, model);
}

const RegisteredDataset kNumpySet =
    dataset_def<NumpySpec>(
        config::Schema::of<NumpySpec>("Numpy")
            .doc("arrays of NumPy, one row per sample: .npy files or the arrays of a .npz archive")
            .key(key("inputs", &NumpySpec::inputs)
                     .required()
                     .doc("a .npy file, or the name of an array in `file`; or {input name: one of them}"))
            .key(key("labels", &NumpySpec::labels)
                     .doc("an array as in `inputs`, with classes (integers), values, or one row per sample; or {output "
                          "name: array}"))
            .key(key("sample_weight", &NumpySpec::sample_weight)
                     .doc("an array as in `inputs`: one factor for each sample's loss"))
            .key(key("file", &NumpySpec::file).doc("a .npz archive, stored or compressed"))
            .rule<NumpySpec>(check_numpy),
        [](const NumpySpec& spec, const ModelSide& model, Role) { return open_numpy(spec, model, memory_limit()); },
        numpy_paths)
        .predict(predict_numpy, {.format = [](const FileHead& head) -> std::string {
                   return is_npy(head) ? "a .npy file" : is_zip(head) ? "a .npz file" : "";
                 }});

}  // namespace

std::shared_ptr<const Source> open_numpy(const NumpySpec& spec, const ModelSide& model,
                                         std::uint64_t max_bytes_in_memory) {
  return std::make_shared<NumpySource>(spec, model, max_bytes_in_memory);
}

std::shared_ptr<const Source> open_numpy_inputs(const std::string& path, const ModelSide& model) {
  NumpySpec spec;
  spec.inputs.entries.push_back({.name = "", .array = "", .path = {path}});
  return open_numpy(spec, model, memory_limit());
}

}  // namespace dptrain::data
