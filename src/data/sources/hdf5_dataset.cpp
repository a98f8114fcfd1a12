// Arrays of an HDF5 file as a Source: contiguous, chunked or compressed, of integers or floats. Labels are read when
// the file is opened, inputs row by row during training, so memory does not grow with the file. All calls of the
// library are serialized by hdf5_mutex().

#include "data/sources/hdf5_dataset.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include <hdf5.h>
#include <sys/stat.h>

#include "config/json_fragment.h"
#include "core/error.h"
#include "core/files.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/file_list.h"
#include "data/sources/hash.h"
#include "data/sources/labelled_source.h"

namespace dptrain::config {
template <>
struct Value<data::NamedArrays> {
  static bool read(const Node& node, Reader& reader, data::NamedArrays& out) {
    out.arrays.clear();
    const Node found = reader.substituted(node);
    if (!found.is_map()) {
      const std::optional<std::string> text = reader.text(found);
      if (text) out.arrays.emplace_back("", *text);
      return text.has_value();
    }
    if (found.entries().empty())
      return reader.expected(found, "an array's name, or a mapping from input names to arrays"), false;
    for (const Node::Entry& entry : found.entries()) {
      const Reader::Key element(reader, reader.key() + "." + entry.key);
      const std::optional<std::string> text = reader.text(entry.value);
      if (!text) return false;
      out.arrays.emplace_back(entry.key, *text);
    }
    return true;
  }
  static Node write(const data::NamedArrays& value) {
    if (value.arrays.size() == 1 && value.arrays.front().first.empty()) return Node::text(value.arrays.front().second);
    Node map = Node::map();
    for (const auto& [name, array] : value.arrays) map.set(name, Node::text(array));
    return map;
  }
  static Node schema() {
    return fragment::any_of({Value<std::string>::schema(), detail::map_schema(Value<std::string>::schema())});
  }
};
}  // namespace dptrain::config

namespace dptrain::data {
namespace {

/// Bounds of the chunk cache, which holds two chunks.
constexpr std::size_t kSmallestCache = 16U << 20, kLargestCache = 256U << 20;
constexpr std::size_t kCacheSlots = 12421;  // the library recommends a prime
constexpr hsize_t kLabelsAtOnce = 1 << 16;
/// Classes are int32.
constexpr double kLargestClass = 2147483647.0;

/// Innermost record of the library's error stack: the cause.
std::string library_error() {
  std::string text = "no reason given";
  const auto note = [](unsigned, const H5E_error2_t* record, void* out) -> herr_t {
    *static_cast<std::string*>(out) = fmt::format("{} ({})", record->desc, record->func_name);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, note, &text);
  return text;
}

[[noreturn]] void fail(const std::string& place, const std::string& words) {
  throw Error(ErrorKind::kData, place + ": " + words);
}

/// Owns one identifier. Destroyed under the lock.
class Handle {
 public:
  Handle() = default;
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& place, const char* what) : id_(id), close_(close) {
    if (id_ < 0) fail(place, fmt::format("cannot {}: {}", what, library_error()));
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  operator hid_t() const noexcept { return id_; }  // NOLINT(google-explicit-constructor)

 private:
  hid_t id_ = -1;
  herr_t (*close_)(hid_t) = nullptr;
};

/// An open array. Used under the lock.
struct Stored {
  std::string place;  ///< "photos.h5, array 'x'"
  Handle set;
  H5T_class_t kind = H5T_NO_CLASS;
  std::size_t element_bytes = 0;
  bool is_signed = false;
  std::int64_t rows = 0;
  Shape row;

  bool is_bytes() const { return kind == H5T_INTEGER && element_bytes == 1 && !is_signed; }
};

/// Sizes the cache for the chunks of one row and the next.
void set_chunk_cache(hid_t set_creation, hid_t set_access, std::size_t element_bytes) {
  if (H5Pget_layout(set_creation) != H5D_CHUNKED) return;
  std::vector<hsize_t> chunk(H5S_MAX_RANK);
  const int rank = H5Pget_chunk(set_creation, H5S_MAX_RANK, chunk.data());
  std::size_t bytes = element_bytes;
  for (int axis = 0; axis < rank; ++axis) bytes *= static_cast<std::size_t>(chunk[static_cast<std::size_t>(axis)]);
  H5Pset_chunk_cache(set_access, kCacheSlots, std::clamp(2 * bytes, kSmallestCache, kLargestCache),
                     H5D_CHUNK_CACHE_W0_DEFAULT);
}

Stored open_array(hid_t file, const std::string& file_name, const std::string& name) {
  Stored array;
  array.place = fmt::format("{}, array '{}'", file_name, name);
  {
    const Handle first(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, array.place, "open");
    const Handle creation(H5Dget_create_plist(first), H5Pclose, array.place, "read its storage layout");
    const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, array.place, "make a property list");
    const Handle type(H5Dget_type(first), H5Tclose, array.place, "read its type");
    array.kind = H5Tget_class(type);
    array.element_bytes = H5Tget_size(type);
    array.is_signed = array.kind == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    if (H5Pget_external_count(creation) > 0 || H5Pget_layout(creation) == H5D_VIRTUAL)
      fail(array.place, std::string("its values are in other files; bring them into this one with "
                                    "'h5repack -l CONTI old.h5 new.h5' or h5py"));
    set_chunk_cache(creation, access, array.element_bytes);
    array.set = Handle(H5Dopen2(file, name.c_str(), access), H5Dclose, array.place, "open");
  }
  if (array.kind != H5T_INTEGER && array.kind != H5T_FLOAT) fail(array.place, "contains neither integers nor floats");
  const Handle space(H5Dget_space(array.set), H5Sclose, array.place, "read its shape");
  std::vector<hsize_t> extents(H5S_MAX_RANK);
  const int rank = H5Sget_simple_extent_dims(space, extents.data(), nullptr);
  if (rank < 1) fail(array.place, "is a single value; expected one row per sample");
  for (int axis = 0; axis < rank; ++axis)
    if (extents[static_cast<std::size_t>(axis)] < 1) fail(array.place, "is empty");
  array.rows = static_cast<std::int64_t>(extents[0]);
  std::vector<std::int64_t> row;
  for (int axis = 1; axis < rank; ++axis)
    row.push_back(static_cast<std::int64_t>(extents[static_cast<std::size_t>(axis)]));
  array.row = row.empty() ? Shape{1} : Shape(std::move(row));
  return array;
}

/// Reads `count` rows from `first` on, converted to the memory type. Under the lock.
void read_rows(const Stored& array, std::int64_t first, std::int64_t count, hid_t memory_type, void* to) {
  const Handle space(H5Dget_space(array.set), H5Sclose, array.place, "read its shape");
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> start(static_cast<std::size_t>(rank), 0), extent(static_cast<std::size_t>(rank));
  H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  start[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(count);
  const Handle memory(H5Screate_simple(rank, extent.data(), nullptr), H5Sclose, array.place, "make a dataspace");
  if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr) < 0 ||
      H5Dread(array.set, memory_type, memory, space, H5P_DEFAULT, to) < 0)
    fail(fmt::format("{}, row {}", array.place, first), "cannot read: " + library_error());
}

/// Integers, one per row, are classes; anything else is a row of floats. Under the lock.
LabelColumn read_labels(const std::string& name, const Stored& array) {
  LabelColumn labels{.name = name, .place = array.place, .type = LabelType::kClass, .width = array.row.elements()};
  if (array.kind == H5T_INTEGER && labels.width == 1) {
    std::vector<double> block;
    for (std::int64_t first = 0; first < array.rows; first += kLabelsAtOnce) {
      const std::int64_t count = std::min<std::int64_t>(kLabelsAtOnce, array.rows - first);
      block.resize(static_cast<std::size_t>(count));
      read_rows(array, first, count, H5T_NATIVE_DOUBLE, block.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const double label = block[static_cast<std::size_t>(i)];
        if (std::fabs(label) > kLargestClass)
          fail(fmt::format("{}, row {}", array.place, first + i), fmt::format("label {:.0f} is not a class", label));
        labels.classes.push_back(static_cast<std::int32_t>(label));
      }
    }
    return labels;
  }
  labels.type = LabelType::kValues;
  labels.values.resize(static_cast<std::size_t>(array.rows * labels.width));
  read_rows(array, 0, array.rows, H5T_NATIVE_FLOAT, labels.values.data());
  return labels;
}

Handle open_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    fail(path, error ? "cannot open: " + error.message() : "is not a file");
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // do not print errors
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose, path, "open as HDF5"};
}

class Hdf5Dataset final : public LabelledSource {
 public:
  explicit Hdf5Dataset(const HDF5DatasetSpec& spec) : LabelledSource("row", spec.class_names) {
    const std::lock_guard lock(hdf5_mutex());
    try {
      open(spec, spec.file.value);
    } catch (...) {
      close_all();
      throw;
    }
  }
  ~Hdf5Dataset() override {
    const std::lock_guard lock(hdf5_mutex());
    close_all();
  }
  Hdf5Dataset(const Hdf5Dataset&) = delete;
  Hdf5Dataset& operator=(const Hdf5Dataset&) = delete;

  std::int64_t size() const override { return inputs_.front().rows; }
  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return names_[static_cast<std::size_t>(input)]; }
  Shape input_shape(int input) const override { return at(input).row; }

  void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
    const Stored& array = at(input);
    const auto elements = static_cast<std::size_t>(array.row.elements());
    out.shape = array.row;
    out.type = array.is_bytes() ? DType::kU8 : DType::kF32;
    const std::lock_guard lock(hdf5_mutex());
    if (array.is_bytes()) {
      out.u8.resize(elements);
      read_rows(array, index, 1, H5T_NATIVE_UINT8, out.u8.data());
    } else {
      out.f32.resize(elements);
      read_rows(array, index, 1, H5T_NATIVE_FLOAT, out.f32.data());
    }
    check_length();
  }

  bool can_read_exact(int input, DType type) const override {
    return type == DType::kI32 && at(input).kind == H5T_INTEGER;
  }
  /// The library clamps numbers outside int32; no model accepts the result as an id.
  void read_exact(std::int64_t index, int input, DType, void* out) const override {
    const std::lock_guard lock(hdf5_mutex());
    read_rows(at(input), index, 1, H5T_NATIVE_INT32, out);
    check_length();
  }

  std::string cache_key() const override {
    std::string arrays;
    for (const Stored& input : inputs_) arrays += input.place + ", ";
    return fmt::format("{}, {}file {:016x}", fingerprint_, arrays, hash_stamp(path_, kHashStart));
  }

 private:
  const Stored& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }

  void open(const HDF5DatasetSpec& spec, const std::string& path) {
    file_ = open_file(path);
    path_ = path;
    bytes_ = length();
    for (const auto& [name, array] : spec.inputs.arrays) {
      names_.push_back(name);
      inputs_.push_back(open_array(file_, path, array));
      if (inputs_.back().rows != size())
        fail(path, fmt::format("array '{}' has {} rows, '{}' has {}", spec.inputs.arrays.front().second, size(), array,
                               inputs_.back().rows));
    }
    const auto read = [&](const std::string& name, const std::string& array, const char* what) {
      const Stored stored = open_array(file_, path, array);
      if (stored.rows != size())
        fail(path, fmt::format("array '{}' has {} rows, {} '{}' have {}", spec.inputs.arrays.front().second, size(),
                               what, array, stored.rows));
      return read_labels(name, stored);
    };
    for (const auto& [name, array] : spec.labels.arrays) {
      labels_.push_back(read(name, array, "labels"));
      check_finite(labels_.back(), "row");
    }
    if (spec.sample_weight) sample_weights_ = sample_weights_of(read("", *spec.sample_weight, "sample weights"), "row");
    set_fingerprint(path);
  }

  /// Includes shapes, labels, the file's size, and the first and last row of every input.
  void set_fingerprint(const std::string& path) {
    std::uint64_t hash = hash_number(std::filesystem::file_size(path), kHashStart);
    for (const LabelColumn& label : labels_) {
      hash = hash_bytes(label.classes.data(), label.classes.size() * sizeof(std::int32_t), hash);
      hash = hash_bytes(label.values.data(), label.values.size() * sizeof(float), hash);
    }
    hash = hash_bytes(sample_weights_.data(), sample_weights_.size() * sizeof(float), hash);
    fingerprint_ = fmt::format("hdf5:{}", size());
    std::vector<float> row;
    for (const Stored& array : inputs_) {
      row.resize(static_cast<std::size_t>(array.row.elements()));
      for (const std::int64_t which : {std::int64_t{0}, array.rows - 1}) {
        read_rows(array, which, 1, H5T_NATIVE_FLOAT, row.data());
        hash = hash_bytes(row.data(), row.size() * sizeof(float), hash);
      }
      fingerprint_ += ":" + array.row.str();
    }
    fingerprint_ += fmt::format(":{:016x}", hash);
  }

  /// Size of the open file, even if its path now names another file; -1 if unknown.
  std::int64_t length() const {
    void* descriptor = nullptr;
    struct stat info {};
    if (H5Fget_vfd_handle(file_, H5P_DEFAULT, &descriptor) < 0 || fstat(*static_cast<int*>(descriptor), &info) != 0)
      return -1;
    return info.st_size;
  }
  /// Call after a read: the library returns zeros for bytes beyond the end of the file.
  void check_length() const {
    if (const std::int64_t now = length(); now < bytes_)
      fail(path_, fmt::format("it had {} bytes when it was opened and has {} now; it must not change while it is read",
                              bytes_, now));
  }

  /// Closes everything, arrays before their file. Under the lock.
  void close_all() {
    inputs_.clear();
    file_ = Handle();
  }

  Handle file_;
  std::vector<std::string> names_;
  std::vector<Stored> inputs_;
  std::string path_;
  std::int64_t bytes_ = 0;
};

}  // namespace

std::vector<ArrayInFile> hdf5_arrays(const std::string& file) {
  const std::lock_guard lock(hdf5_mutex());
  const Handle opened = open_file(file);
  std::vector<std::string> names;
  const auto note = [](hid_t, const char* name, const H5L_info_t*, void* all) -> herr_t {
    static_cast<std::vector<std::string>*>(all)->emplace_back(name);
    return 0;
  };
  if (H5Lvisit(opened, H5_INDEX_NAME, H5_ITER_INC, note, &names) < 0) fail(file, "cannot list: " + library_error());
  std::vector<ArrayInFile> arrays;
  for (const std::string& name : names) try {
      const Stored array = open_array(opened, file, name);
      arrays.push_back({.name = name,
                        .rows = array.rows,
                        .row = array.row,
                        .integers = array.kind == H5T_INTEGER,
                        .bytes = array.is_bytes()});
    } catch (const Error&) {  // a group, text, a single value: not an array for training
    }
  return arrays;
}

namespace {

/// Reads the data set's arrays from another file.
PredictSource predict_hdf5(const HDF5DatasetSpec* spec, const PredictFiles& files, const ModelSide& model) {
  require_trained(spec, files, "HDF5Dataset");
  HDF5DatasetSpec other = *spec;
  other.file = config::Path{files.paths.front()};
  other.labels = {};
  other.sample_weight = {};
  return open_arrays(dataset_family().make(std::move(other)), files, model);
}

const RegisteredDataset kHdf5DatasetSet =
    dataset_def<HDF5DatasetSpec>(
        config::Schema::of<HDF5DatasetSpec>("HDF5Dataset")
            .doc("arrays of an HDF5 file, one row per sample")
            .key(key("file", &HDF5DatasetSpec::file).required().doc("path of the file"))
            .key(key("inputs", &HDF5DatasetSpec::inputs)
                     .required()
                     .doc("name of an array, or {input name: array}; one row per sample"))
            .key(key("labels", &HDF5DatasetSpec::labels)
                     .doc("name of an array: classes (integers), values, or rows; or {output name: array}"))
            .key(key("sample_weight", &HDF5DatasetSpec::sample_weight)
                     .doc("name of an array: one factor for each sample's loss")),
        [](const HDF5DatasetSpec& spec, const ModelSide&, Role) { return std::make_shared<Hdf5Dataset>(spec); },
        [](const HDF5DatasetSpec& spec) { return std::vector{spec.file}; })
        .predict(predict_hdf5, {.format = [](const FileHead& head) -> std::string {
                   return head == FileHead{0x89, 'H', 'D', 'F'} ? "an HDF5 file" : "";
                 }});

}  // namespace

}  // namespace dptrain::data
