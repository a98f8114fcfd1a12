#include "data/sources/idx_source.h"

#include <algorithm>

#include "config/json_fragment.h"
#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/hash.h"
#include "data/sources/labelled_source.h"

namespace dptrain::config {

bool Value<data::NamedPaths>::read(const Node& node, Reader& reader, data::NamedPaths& out) {
  out.paths.clear();
  const Node found = reader.substituted(node);
  if (!found.is_map()) {
    Path path;
    if (!Value<Path>::read(found, reader, path)) return false;
    out.paths.emplace_back("", std::move(path));
    return true;
  }
  if (found.entries().empty()) {
    reader.expected(found, "a path, or a mapping from input names to paths");
    return false;
  }
  bool good = true;
  for (const Node::Entry& entry : found.entries()) {
    const Reader::Key element(reader, reader.key() + "." + entry.key);
    Path path;
    good = Value<Path>::read(entry.value, reader, path) && good;
    out.paths.emplace_back(entry.key, std::move(path));
  }
  return good;
}

Node Value<data::NamedPaths>::write(const data::NamedPaths& value) {
  if (value.paths.size() == 1 && value.paths.front().first.empty())
    return Value<Path>::write(value.paths.front().second);
  Node map = Node::map();
  for (const auto& [name, path] : value.paths) map.set(name, Value<Path>::write(path));
  return map;
}

Node Value<data::NamedPaths>::schema() {
  return fragment::any_of({Value<Path>::schema(), detail::map_schema(Value<Path>::schema())});
}

}  // namespace dptrain::config

namespace dptrain::data {
namespace {

/// Bytes at each end of a file that its fingerprint includes.
constexpr std::size_t kFingerprintBytes = 64U << 10;

std::uint64_t fingerprint_of(const IdxFile& file, std::uint64_t hash) {
  hash = hash_number(file.stored_bytes, hash);
  hash = hash_number(static_cast<std::uint64_t>(file.type), hash);
  hash = hash_number(static_cast<std::uint64_t>(file.count), hash);
  for (const std::int64_t extent : file.item.dims()) hash = hash_number(static_cast<std::uint64_t>(extent), hash);
  const std::size_t edge = std::min(kFingerprintBytes, file.bytes.size());
  hash = hash_bytes(file.bytes.data(), edge, hash);
  return hash_bytes(file.bytes.data() + file.bytes.size() - edge, edge, hash);
}

/// "60000", "60000x28x28".
std::string extents_text(const IdxFile& file) {
  return file.item.rank() == 0 ? fmt::format("{}", file.count) : fmt::format("{}x{}", file.count, file.item.str());
}

struct IdxInput {
  std::string name;
  Shape shape;
  std::vector<std::uint8_t> u8;  // one of the three is filled
  std::vector<float> f32;
  std::vector<std::int32_t> ids;
};

IdxInput make_input(const std::string& name, IdxFile file, bool ids) {
  IdxInput input{.name = name, .shape = file.item.rank() == 0 ? Shape{1} : file.item, .u8 = {}, .f32 = {}, .ids = {}};
  if (file.type == DType::kU8) {
    input.u8 = std::move(file.bytes);
  } else if (ids && is_integer(file)) {
    input.ids = idx_integers(file);
  } else {
    input.f32 = idx_floats(file);
  }
  return input;
}

/// Integers, one per item, are classes. Anything else is a row of floats: regression values, one-hot rows, or a map of
/// classes. The loader distinguishes these by the output.
LabelColumn make_labels(const std::string& name, const IdxFile& file) {
  LabelColumn labels{.name = name, .place = file.name};
  labels.width = file.item.elements();
  if (is_integer(file) && labels.width == 1) {
    labels.type = LabelType::kClass;
    labels.classes = idx_integers(file);
    return labels;
  }
  labels.type = LabelType::kValues;
  labels.values = idx_floats(file);
  return labels;
}

/// Label maps are an error if all inputs are single numbers.
void check_not_swapped(const IdxFiles& files, const IdxFile& labels) {
  const auto is_number = [](const auto& input) { return input.second.item.rank() == 0; };
  if (labels.item.rank() > 1 && std::ranges::all_of(files.inputs, is_number))
    throw Error(ErrorKind::kData, fmt::format("{}: labels have the shape {}, and inputs are one number per sample; "
                                              "are inputs and labels swapped?",
                                              labels.name, extents_text(labels)));
}

class IdxSource final : public LabelledSource {
 public:
  IdxSource(std::vector<IdxInput> inputs, std::vector<LabelColumn> labels, std::vector<float> sample_weights,
            std::int64_t size, ClassNames class_names, std::string fingerprint)
      : LabelledSource("item", std::move(class_names)), inputs_(std::move(inputs)), size_(size) {
    labels_ = std::move(labels);
    sample_weights_ = std::move(sample_weights);
    fingerprint_ = std::move(fingerprint);
  }

  std::int64_t size() const override { return size_; }
  int inputs() const override { return static_cast<int>(inputs_.size()); }
  std::string input_name(int input) const override { return at(input).name; }
  Shape input_shape(int input) const override { return at(input).shape; }

  void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
    const IdxInput& in = at(input);
    const std::int64_t elements = in.shape.elements();
    out.shape = in.shape;
    if (!in.u8.empty()) {
      out.type = DType::kU8;
      out.u8.assign(in.u8.begin() + index * elements, in.u8.begin() + (index + 1) * elements);
    } else {
      out.type = DType::kF32;
      if (in.ids.empty())
        out.f32.assign(in.f32.begin() + index * elements, in.f32.begin() + (index + 1) * elements);
      else
        out.f32.assign(in.ids.begin() + index * elements, in.ids.begin() + (index + 1) * elements);
    }
  }
  bool can_read_exact(int input, DType type) const override {
    return type == DType::kI32 && (!at(input).ids.empty() || !at(input).u8.empty());
  }
  void read_exact(std::int64_t index, int input, DType, void* out) const override {
    const IdxInput& in = at(input);
    const std::int64_t elements = in.shape.elements();
    auto* const ids = static_cast<std::int32_t*>(out);
    if (in.ids.empty())
      std::copy_n(in.u8.begin() + index * elements, elements, ids);
    else
      std::copy_n(in.ids.begin() + index * elements, elements, ids);
  }
  const std::uint8_t* u8_rows(int input) const override { return at(input).u8.empty() ? nullptr : at(input).u8.data(); }
  const float* f32_rows(int input) const override { return at(input).f32.empty() ? nullptr : at(input).f32.data(); }

  /// Hashes all bytes, which are already in memory.
  std::string cache_key() const override {
    std::uint64_t hash = kHashStart;
    for (const IdxInput& input : inputs_) {
      hash = hash_bytes(input.u8.data(), input.u8.size(), hash);
      hash = hash_bytes(input.f32.data(), input.f32.size() * sizeof(float), hash);
      hash = hash_bytes(input.ids.data(), input.ids.size() * sizeof(std::int32_t), hash);
    }
    return fmt::format("{}, bytes {:016x}", fingerprint_, hash);
  }

 private:
  const IdxInput& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }

  std::vector<IdxInput> inputs_;
  std::int64_t size_;
};

void check_count(const IdxFile& first, const IdxFile& other, const std::string& what) {
  if (other.count == first.count) return;
  throw Error(ErrorKind::kData, fmt::format("{} has {} samples, {} has {} {}; expected the same number", first.name,
                                            first.count, other.name, other.count, what));
}

IdxFile read_idx(const std::string& path) { return parse_idx(*open_bytes(path)); }

}  // namespace

std::shared_ptr<const Source> make_idx_source(IdxFiles files, ClassNames class_names, const ModelSide& model) {
  if (files.inputs.empty()) throw Error(ErrorKind::kUsage, "IDX: inputs must name at least one file, found none");
  const IdxFile& first = files.inputs.front().second;
  const std::int64_t count = first.count;
  std::string text = fmt::format("idx:{}", count);
  std::uint64_t hash = kHashStart;
  for (const auto& [name, file] : files.inputs) {
    check_count(first, file, "samples");
    text += fmt::format(":{}:{}", file.item.str(), name_of(file.type));
    hash = fingerprint_of(file, hash_bytes(name.data(), name.size(), hash));
  }
  std::vector<LabelColumn> labels;
  for (const auto& [name, file] : files.labels) {
    check_count(first, file, "labels");
    check_not_swapped(files, file);
    labels.push_back(make_labels(name, file));
    check_finite(labels.back(), "item");
    hash = fingerprint_of(file, hash_bytes(name.data(), name.size(), hash));
  }
  std::vector<float> sample_weights;
  if (files.sample_weight) {
    check_count(first, *files.sample_weight, "sample weights");
    sample_weights = sample_weights_of(make_labels("", *files.sample_weight), "item");
    hash = fingerprint_of(*files.sample_weight, hash);
  }
  std::vector<IdxInput> arrays;
  for (auto& [name, file] : files.inputs)
    arrays.push_back(make_input(name, std::move(file), model.is_id_input(name, files.inputs.size())));
  return std::make_shared<IdxSource>(std::move(arrays), std::move(labels), std::move(sample_weights), count,
                                     std::move(class_names), fmt::format("{}:{:016x}", text, hash));
}

std::shared_ptr<const Source> open_idx(const IDXSpec& spec, const ModelSide& model) {
  // Labels first: they are small, so a wrong path fails before the images are unpacked.
  IdxFiles files;
  for (const auto& [name, path] : spec.labels.paths)
    if (!path.value.empty()) files.labels.emplace_back(name, read_idx(path.value));
  if (spec.sample_weight) files.sample_weight = read_idx(spec.sample_weight->value);
  for (const auto& [name, path] : spec.inputs.paths) files.inputs.emplace_back(name, read_idx(path.value));
  return make_idx_source(std::move(files), spec.class_names, model);
}

namespace {

PredictSource predict_idx(const IDXSpec* spec, const PredictFiles& files, const ModelSide& model) {
  const std::string& path = files.paths.front();
  if (files.is_part && spec->inputs.paths.size() > 1)
    fail_part(path, "IDX", "whose inputs are several files; use HDF5Dataset");
  PredictSource input = whole_source(open_idx_inputs(path, model));
  if (files.is_part) input.input_name = spec->inputs.paths.front().first;
  return input;
}

const RegisteredDataset kIdxSet =
    dataset_def<IDXSpec>(
        config::Schema::of<IDXSpec>("IDX")
            .doc("arrays in IDX files, one row per sample")
            .key(key("inputs", &IDXSpec::inputs).required().doc("a file, plain or .gz; or {input name: file}"))
            .key(key("labels", &IDXSpec::labels)
                     .required()
                     .doc("a file, plain or .gz, with classes (integers), values, or one row per sample; or {output "
                          "name: file}"))
            .key(key("sample_weight", &IDXSpec::sample_weight).doc("a file: one factor for each sample's loss")),
        [](const IDXSpec& spec, const ModelSide& model, Role) { return open_idx(spec, model); },
        [](const IDXSpec& spec) {
          std::vector<config::Path> paths;
          for (const auto& [name, path] : spec.inputs.paths) paths.push_back(path);
          for (const auto& [name, path] : spec.labels.paths) paths.push_back(path);
          if (spec.sample_weight) paths.push_back(*spec.sample_weight);
          return paths;
        })
        .predict(predict_idx, {.format = [](const FileHead& head) -> std::string {
                   const bool idx = head[0] == 0 && head[1] == 0 && head[2] >= 0x08 && head[2] <= 0x0E &&
                                    head[3] >= 1 && head[3] <= 8;
                   const bool gzip = head[0] == 0x1F && head[1] == 0x8B;  // images are not gzip files
                   return idx || gzip ? "an IDX file" : "";
                 }});

}  // namespace

std::shared_ptr<const Source> open_idx_inputs(const std::string& path, const ModelSide& model) {
  IdxFiles files;
  files.inputs.emplace_back("", read_idx(path));
  return make_idx_source(std::move(files), {}, model);
}

}  // namespace dptrain::data
