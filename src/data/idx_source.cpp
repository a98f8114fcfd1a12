#include "data/idx_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/dataset.h"
#include "data/hash.h"

namespace dptrain::data {
namespace {

/// How much of each end of a file enters its fingerprint: quick for any size.
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
  std::vector<std::uint8_t> u8;  // one of the two is filled
  std::vector<float> f32;
};

struct IdxLabels {
  std::string file;
  LabelType type = LabelType::kNone;
  std::int64_t width = 0;
  std::vector<std::int32_t> classes;
  std::vector<float> values;
};

IdxInput make_input(const std::string& name, IdxFile file) {
  IdxInput input{.name = name, .shape = file.item.rank() == 0 ? Shape{1} : file.item, .u8 = {}, .f32 = {}};
  if (file.type == DType::kU8) {
    input.u8 = std::move(file.bytes);
  } else {
    input.f32 = idx_floats(file);
  }
  return input;
}

/// Integers, one per item, are classes; anything else is a row of floats: regression values or one-hot rows.
IdxLabels make_labels(const IdxFile& file) {
  if (file.item.rank() > 1)
    throw Error(ErrorKind::kData,
                fmt::format("{}: labels have the shape {}; expected one number or one row per sample; "
                            "are inputs and labels swapped?",
                            file.name, extents_text(file)));
  IdxLabels labels;
  labels.file = file.name;
  labels.width = file.item.elements();
  if (is_integer(file) && labels.width == 1) {
    labels.type = LabelType::kClass;
    labels.classes = idx_integers(file);
    return labels;
  }
  labels.type = LabelType::kValues;
  labels.values = idx_floats(file);
  const auto bad = std::find_if(labels.values.begin(), labels.values.end(), [](float v) { return !std::isfinite(v); });
  if (bad != labels.values.end())
    throw Error(ErrorKind::kData, fmt::format("{}, item {}: label is {}; expected a finite number", file.name,
                                              (bad - labels.values.begin()) / labels.width, *bad));
  return labels;
}

class IdxSource final : public Source {
 public:
  IdxSource(std::vector<IdxInput> inputs, IdxLabels labels, std::int64_t size, std::vector<std::string> class_names,
            std::string fingerprint)
      : inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        size_(size),
        class_names_(std::move(class_names)),
        fingerprint_(std::move(fingerprint)) {}

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
      out.f32.assign(in.f32.begin() + index * elements, in.f32.begin() + (index + 1) * elements);
    }
  }
  const std::uint8_t* u8_rows(int input) const override { return at(input).u8.empty() ? nullptr : at(input).u8.data(); }
  const float* f32_rows(int input) const override { return at(input).f32.empty() ? nullptr : at(input).f32.data(); }

  LabelType label_type() const override { return labels_.type; }
  std::int64_t label_width() const override { return labels_.width; }
  std::int64_t label_class(std::int64_t index) const override {
    return labels_.classes[static_cast<std::size_t>(index)];
  }
  void label_values(std::int64_t index, float* out) const override {
    std::copy_n(labels_.values.begin() + index * labels_.width, labels_.width, out);
  }
  std::string label_place(std::int64_t index) const override { return fmt::format("{}, item {}", labels_.file, index); }

  std::vector<std::string> class_names() const override { return class_names_; }
  std::string fingerprint() const override { return fingerprint_; }
  /// Of all bytes, which are in memory already.
  std::string cache_key() const override {
    std::uint64_t hash = kHashStart;
    for (const IdxInput& input : inputs_) {
      hash = hash_bytes(input.u8.data(), input.u8.size(), hash);
      hash = hash_bytes(input.f32.data(), input.f32.size() * sizeof(float), hash);
    }
    return fmt::format("{}, bytes {:016x}", fingerprint_, hash);
  }

 private:
  const IdxInput& at(int input) const { return inputs_[static_cast<std::size_t>(input)]; }

  std::vector<IdxInput> inputs_;
  IdxLabels labels_;
  std::int64_t size_;
  std::vector<std::string> class_names_;
  std::string fingerprint_;
};

void check_count(const IdxFile& first, const IdxFile& other, const std::string& what) {
  if (other.count == first.count) return;
  throw Error(ErrorKind::kData, fmt::format("{} holds {} samples, {} holds {} {}; expected as many", first.name,
                                            first.count, other.name, other.count, what));
}

IdxFile read_idx(const std::string& path) { return parse_idx(*open_bytes(path)); }

}  // namespace

std::shared_ptr<const Source> make_idx_source(std::vector<std::pair<std::string, IdxFile>> inputs,
                                              std::optional<IdxFile> labels, std::vector<std::string> class_names) {
  if (inputs.empty()) throw Error(ErrorKind::kUsage, "IDX: inputs must name at least one file, found none");
  const std::int64_t count = inputs.front().second.count;
  std::string text = fmt::format("idx:{}", count);
  std::uint64_t hash = kHashStart;
  for (const auto& [name, file] : inputs) {
    check_count(inputs.front().second, file, "samples");
    text += fmt::format(":{}:{}", file.item.str(), name_of(file.type));
    hash = fingerprint_of(file, hash_bytes(name.data(), name.size(), hash));
  }
  IdxLabels made;
  if (labels) {
    check_count(inputs.front().second, *labels, "labels");
    made = make_labels(*labels);
    hash = fingerprint_of(*labels, hash);
  }
  std::vector<IdxInput> arrays;
  for (auto& [name, file] : inputs) arrays.push_back(make_input(name, std::move(file)));
  return std::make_shared<IdxSource>(std::move(arrays), std::move(made), count, std::move(class_names),
                                     fmt::format("{}:{:016x}", text, hash));
}

std::shared_ptr<const Source> open_idx(const IDXSpec& spec) {
  // Labels first: they are small, so a wrong path shows before the images have been unpacked.
  std::optional<IdxFile> labels;
  if (!spec.labels.value.empty()) labels = read_idx(spec.labels.value);
  std::vector<std::pair<std::string, IdxFile>> inputs;
  for (const auto& [name, path] : spec.inputs.paths) inputs.emplace_back(name, read_idx(path.value));
  return make_idx_source(std::move(inputs), std::move(labels), spec.class_names);
}

std::unique_ptr<config::TypeDef> idx_def() {
  using config::key;
  return dataset_def<IDXSpec>(
      config::Schema::of<IDXSpec>("IDX")
          .key(key("inputs", &IDXSpec::inputs).required().doc("a file, or {input name: file}; plain or .gz"))
          .key(key("labels", &IDXSpec::labels).required().doc("classes (integers), values, or one row per sample")),
      [](const IDXSpec& spec, const ModelSide&, Role) { return open_idx(spec); },
      [](const IDXSpec& spec) {
        std::vector<config::Path> paths;
        for (const auto& [name, path] : spec.inputs.paths) paths.push_back(path);
        paths.push_back(spec.labels);
        return paths;
      });
}

std::shared_ptr<const Source> open_idx_inputs(const std::string& path) {
  std::vector<std::pair<std::string, IdxFile>> inputs;
  inputs.emplace_back("", read_idx(path));
  return make_idx_source(std::move(inputs), std::nullopt, {});
}

}  // namespace dptrain::data
