#include "data/sources/synthetic.h"

#include <algorithm>

#include "core/error.h"
#include "core/format.h"
#include "core/random.h"

namespace dptrain::data {
namespace {

/// Bounds of the pool of distinct samples: 8 Mi elements take about 60 ms to make and, as f32, 32 MiB.
constexpr std::int64_t kPoolElements = 8 << 20;
constexpr std::int64_t kMaxDistinct = 4096, kFewestDistinct = 16;

/// Streams below Purpose::kSynthetic; 0 to 2 are the roles.
constexpr std::uint32_t kMeanStream = 3, kValueStream = 4;

/// An element is kLevel * L + kPattern * P + kNoise * N. L, P and N are uniform in [-1, 1]; L depends on class and
/// channel, P on class and element. Networks that average over an image can learn L, others P.
constexpr float kLevel = 0.4F, kPattern = 0.3F, kNoise = 0.3F;
/// Scales the sum's standard deviation from 0.34 to about 1.
constexpr float kFloatScale = 3.0F;

/// Uniform numbers in [-1, 1], each from one byte of the stream.
class Bytes {
 public:
  explicit Bytes(RandomStream stream) : stream_(stream) {}
  float next() {
    if (left_ == 0) word_ = stream_.next_u32(), left_ = 4;
    const auto byte = static_cast<float>(word_ & 0xFFU);
    word_ >>= 8;
    --left_;
    return byte * (2.0F / 255.0F) - 1.0F;
  }

 private:
  RandomStream stream_;
  std::uint32_t word_ = 0;
  int left_ = 0;
};

std::uint32_t purpose(std::uint32_t which) { return static_cast<std::uint32_t>(Purpose::kSynthetic) + which; }

struct Pool {
  std::int64_t elements = 0;     // per sample
  std::vector<std::uint8_t> u8;  // one of the three is filled
  std::vector<float> f32;
  std::vector<std::int32_t> ids;
};

std::int64_t distinct_samples(std::int64_t samples, const ModelSide& model) {
  std::int64_t elements = 1;
  for (const Shape& shape : model.input_shapes) elements += shape.elements();
  return std::min(samples, std::clamp(kPoolElements / elements, kFewestDistinct, kMaxDistinct));
}

std::vector<std::int64_t> draw_classes(std::int64_t count, std::int64_t classes, std::uint64_t seed, Role role) {
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    RandomStream stream(seed, purpose(static_cast<std::uint32_t>(role)), i, ~0U);
    drawn[i] = static_cast<std::int64_t>(stream.below(static_cast<std::uint64_t>(classes)));
  }
  return drawn;
}

void draw_mean(const Shape& shape, std::uint64_t seed, std::int64_t klass, std::uint32_t input,
               std::vector<float>& mean) {
  Bytes bytes(RandomStream(seed, purpose(kMeanStream), static_cast<std::uint64_t>(klass), input));
  const auto channels = static_cast<std::size_t>(shape.rank() == 0 ? 1 : shape.back());
  std::vector<float> level(channels);
  for (float& l : level) l = kLevel * bytes.next();
  for (std::size_t e = 0; e < mean.size(); ++e) mean[e] = level[e % channels] + kPattern * bytes.next();
}

Pool make_pool(const Shape& shape, bool pixels, const std::vector<std::int64_t>& labels, std::int64_t classes,
               std::uint64_t seed, Role role, std::uint32_t input) {
  Pool pool;
  pool.elements = shape.elements();
  const auto width = static_cast<std::size_t>(pool.elements);
  if (pixels) {
    pool.u8.resize(labels.size() * width);
  } else {
    pool.f32.resize(labels.size() * width);
  }
  std::vector<std::vector<std::size_t>> of_class(static_cast<std::size_t>(classes));
  for (std::size_t i = 0; i < labels.size(); ++i) of_class[static_cast<std::size_t>(labels[i])].push_back(i);
  std::vector<float> mean(width);
  for (std::size_t k = 0; k < of_class.size(); ++k) {
    if (of_class[k].empty()) continue;
    draw_mean(shape, seed, static_cast<std::int64_t>(k), input, mean);
    for (const std::size_t i : of_class[k]) {
      Bytes noise(RandomStream(seed, purpose(static_cast<std::uint32_t>(role)), i, input));
      if (pixels) {
        for (std::size_t e = 0; e < width; ++e)
          pool.u8[i * width + e] = static_cast<std::uint8_t>(128.0F + 127.0F * (mean[e] + kNoise * noise.next()));
      } else {
        for (std::size_t e = 0; e < width; ++e)
          pool.f32[i * width + e] = kFloatScale * (mean[e] + kNoise * noise.next());
      }
    }
  }
  return pool;
}

/// Sequences of ids. With probability 1/2 an id is drawn from the part of the vocabulary that belongs to the class. At
/// most half of a sequence is padding with zeros at its end, as in Keras.
Pool make_ids(const Shape& shape, std::int64_t limit, const std::vector<std::int64_t>& labels, std::int64_t classes,
              std::uint64_t seed, Role role, std::uint32_t input) {
  constexpr std::int64_t kFewWords = 1000;  // if the model has no limit
  Pool pool;
  pool.elements = shape.elements();
  const auto words = static_cast<std::uint64_t>(limit > 0 && limit < INT32_MAX ? limit : kFewWords);
  const auto length = static_cast<std::uint64_t>(pool.elements);
  pool.ids.assign(labels.size() * length, 0);
  if (words < 2) return pool;
  const std::uint64_t own = std::max<std::uint64_t>(1, (words - 1) / static_cast<std::uint64_t>(classes));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    RandomStream draws(seed, purpose(static_cast<std::uint32_t>(role)), i, input);
    const std::uint64_t used = length - draws.below(length / 2 + 1);
    const std::uint64_t first = static_cast<std::uint64_t>(labels[i]) * own % (words - 1);
    for (std::uint64_t e = 0; e < used; ++e) {
      const bool of_class = draws.below(2) == 0;
      const std::uint64_t word = of_class ? (first + draws.below(own)) % (words - 1) : draws.below(words - 1);
      pool.ids[i * length + e] = static_cast<std::int32_t>(1 + word);
    }
  }
  return pool;
}

/// Whether labels are one class per sample. Outputs of several axes get a row of values, or a class for each position.
bool has_classes(const Shape& output) { return output.rank() == 0 || output.elements() == output.back(); }
std::int64_t classes_of(const Shape& output) {
  return has_classes(output) && output.elements() > 1 ? output.elements() : 2;
}

class Synthetic final : public Source {
 public:
  Synthetic(const SyntheticSpec& spec, const ModelSide& model, std::int64_t classes, Role role)
      : spec_(spec), model_(model) {
    labels_ = draw_classes(distinct_samples(spec.samples, model), classes, spec.seed, role);
    fingerprint_ = fmt::format("synthetic:{}:{}:{}:{}:{}", spec.samples, classes, spec.seed, static_cast<int>(role),
                               model.pixels ? "uint8" : "float32");
    for (std::size_t i = 0; i < model.input_shapes.size(); ++i) {
      const Shape& shape = model.input_shapes[i];
      const auto which = static_cast<std::uint32_t>(i);
      const bool ids = model.input_type(i) == DType::kI32;
      pools_.push_back(ids ? make_ids(shape, model.id_limit(i), labels_, classes, spec.seed, role, which)
                           : make_pool(shape, model.pixels, labels_, classes, spec.seed, role, which));
      fingerprint_ += ":" + shape.str() + (ids ? fmt::format(" ids below {}", model.id_limit(i)) : "");
    }
  }

  std::int64_t size() const override { return spec_.samples; }
  int inputs() const override { return static_cast<int>(pools_.size()); }
  std::string input_name(int input) const override {
    return pools_.size() == 1 ? "" : model_.input_names[static_cast<std::size_t>(input)];
  }
  Shape input_shape(int input) const override { return model_.input_shapes[static_cast<std::size_t>(input)]; }
  void read(std::int64_t index, int input, Array& out, const ReadHint&) const override {
    const Pool& pool = pools_[static_cast<std::size_t>(input)];
    const std::int64_t first = row(index) * pool.elements;
    out.shape = input_shape(input);
    out.type = model_.pixels && pool.ids.empty() ? DType::kU8 : DType::kF32;
    if (!pool.ids.empty()) {
      out.f32.assign(pool.ids.begin() + first, pool.ids.begin() + first + pool.elements);
    } else if (model_.pixels) {
      out.u8.assign(pool.u8.begin() + first, pool.u8.begin() + first + pool.elements);
    } else {
      out.f32.assign(pool.f32.begin() + first, pool.f32.begin() + first + pool.elements);
    }
  }
  bool can_read_exact(int input, DType type) const override {
    return type == DType::kI32 && !pools_[static_cast<std::size_t>(input)].ids.empty();
  }
  void read_exact(std::int64_t index, int input, DType, void* out) const override {
    const Pool& pool = pools_[static_cast<std::size_t>(input)];
    std::copy_n(pool.ids.begin() + row(index) * pool.elements, pool.elements, static_cast<std::int32_t*>(out));
  }
  const std::uint8_t* u8_rows(int input) const override {
    return rows_or_null(pools_[static_cast<std::size_t>(input)].u8);
  }
  const float* f32_rows(int input) const override { return rows_or_null(pools_[static_cast<std::size_t>(input)].f32); }
  std::int64_t row(std::int64_t index) const override { return index % static_cast<std::int64_t>(labels_.size()); }

  int labels() const override { return static_cast<int>(model_.outputs.size()); }
  std::string label_name(int which) const override {
    return labels() == 1 ? "" : model_.output_names[static_cast<std::size_t>(which)];
  }
  LabelType label_type(int which) const override {
    return has_classes(output(which)) ? LabelType::kClass : LabelType::kValues;
  }
  std::int64_t label_width(int which) const override {
    if (has_classes(output(which))) return 1;
    return is_class_map(which) ? output(which).elements() / output(which).back() : output(which).elements();
  }
  /// Outputs after the first may have fewer classes: the drawn class modulo their number.
  std::int64_t label_class(std::int64_t index, int which) const override {
    const std::int64_t drawn = labels_[static_cast<std::size_t>(row(index))];
    return which == 0 ? drawn : drawn % classes_of(output(which));
  }
  void label_values(std::int64_t index, float* out, int which) const override {
    const auto drawn = static_cast<std::uint64_t>(labels_[static_cast<std::size_t>(row(index))]);
    RandomStream stream(spec_.seed, purpose(kValueStream) + static_cast<std::uint32_t>(which), drawn);
    const auto classes = static_cast<std::uint64_t>(output(which).back());
    for (std::int64_t i = 0; i < label_width(which); ++i)
      out[i] = is_class_map(which) ? static_cast<float>(stream.below(classes)) : stream.uniform();
  }
  std::string label_place(std::int64_t index, int) const override { return fmt::format("Synthetic, item {}", index); }
  std::vector<std::string> class_names(int which) const override {
    return spec_.class_names.names_of(label_name(which));
  }
  std::string fingerprint() const override { return fingerprint_; }

 private:
  template <class T>
  static const T* rows_or_null(const std::vector<T>& rows) {
    return rows.empty() ? nullptr : rows.data();
  }
  const Shape& output(int which) const { return model_.outputs[static_cast<std::size_t>(which)]; }
  bool is_class_map(int which) const {
    return !model_.class_maps.empty() && model_.class_maps[static_cast<std::size_t>(which)];
  }

  SyntheticSpec spec_;
  ModelSide model_;
  std::vector<std::int64_t> labels_;  // class of each sample of the pool
  std::vector<Pool> pools_;           // per input
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Source> make_synthetic(const SyntheticSpec& spec, const ModelSide& model, Role role) {
  const Shape first = model.outputs.empty() ? Shape{} : model.outputs.front();
  const std::int64_t width = first.elements(), classes = spec.classes > 0 ? spec.classes : classes_of(first);
  if (has_classes(first) && width > 1 && classes > width)
    throw Error(ErrorKind::kUsage, fmt::format("classes is {}, but the model has {} outputs", classes, width));
  return std::make_shared<Synthetic>(spec, model, classes, role);
}

namespace {

const RegisteredDataset kSyntheticSet =
    dataset_def<SyntheticSpec>(
        config::Schema::of<SyntheticSpec>("Synthetic")
            .doc("learnable samples without files: noise around one random mean per class")
            .positional(key("samples", &SyntheticSpec::samples).at_least(1).doc("number of samples"))
            .key(key("classes", &SyntheticSpec::classes)
                     .at_least(0)
                     .doc("number of classes; 0: as many as the model has outputs, 2 for one output"))
            .key(key("seed", &SyntheticSpec::seed).doc("data sets with one seed have the same class means")),
        make_synthetic)
        .mark_synthetic();

}  // namespace

}  // namespace dptrain::data
