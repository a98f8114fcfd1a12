// init --from an HDF5 file: finds inputs and labels, and drafts a network for numbers, series, ids or images.

#include <algorithm>
#include <array>
#include <memory>

#include "core/error.h"
#include "core/format.h"
#include "core/text.h"
#include "data/sources/hdf5_dataset.h"
#include "init/draft.h"
#include "init/networks.h"

namespace dptrain::init {
namespace {

using data::ArrayInFile;

constexpr std::array kInputNames{"x", "inputs", "input", "data", "images", "image", "features", "samples"};
constexpr std::array kLabelNames{"y", "labels", "label", "targets", "target", "classes", "class", "outputs"};
constexpr std::int64_t kMaxArrayClasses = 1000;
constexpr std::int64_t kSampledArrayRows = 20'000;

/// "x" for "train/x" and "x_train"; `role` of both is "train".
struct SplitName {
  std::string word, role;
};
SplitName split_name(const std::string& name) {
  static const std::pair<const char*, const char*> kRoles[] = {
      {"train", "train"},           {"training", "train"}, {"val", "validation"}, {"valid", "validation"},
      {"validation", "validation"}, {"test", "test"},      {"testing", "test"}};
  SplitName split;
  std::string lower = lowercase(name);
  for (char& letter : lower)
    if (letter == '_' || letter == '-' || letter == '.') letter = '/';
  for (std::size_t begin = 0; begin <= lower.size();) {
    const std::size_t end = std::min(lower.find('/', begin), lower.size());
    const std::string part = lower.substr(begin, end - begin);
    const auto role = std::ranges::find(kRoles, part, [](const auto& known) { return std::string(known.first); });
    if (role != std::end(kRoles))
      split.role = role->second;
    else
      split.word = part;
    begin = end + 1;
  }
  return split;
}

template <std::size_t N>
std::size_t rank_of(const std::string& word, const std::array<const char*, N>& names) {
  return static_cast<std::size_t>(std::ranges::find(names, word) - names.begin());
}

/// Two arrays with one row per sample.
struct Pair {
  std::string inputs, labels;
  std::int64_t rows = 0;
};

class ArraysDraft {
 public:
  explicit ArraysDraft(const DraftRequest& request) : request_(request), arrays_(data::hdf5_arrays(request.path)) {
    if (request.target) throw Error(ErrorKind::kUsage, "--target names a column of a CSV file");
    train_ = find("train");
    if (train_.inputs.empty()) train_ = find("");
    if (train_.inputs.empty()) fail("no array is called y, labels or target, with as many rows as another one");
    validation_ = find("validation"), test_ = find("test");
    row_ = array(train_.inputs).row;
    inspect_labels();
  }

  Draft take() const {
    Draft draft;
    draft.findings.push_back(fmt::format("{}: {} samples {} in '{}', {} in '{}'", request_.path,
                                         with_commas(train_.rows), row_.str(), train_.inputs, labels_text(),
                                         train_.labels));
    if (!validation_.inputs.empty())
      draft.findings.push_back(fmt::format("  '{}' is for validation", validation_.inputs));
    if (!test_.inputs.empty()) draft.findings.push_back(fmt::format("  '{}' is the test set", test_.inputs));
    draft.yaml = head() + model() + data() + training();
    return draft;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    std::vector<std::string> all;
    for (const ArrayInFile& array : arrays_)
      all.push_back(fmt::format("{} ({} rows of {})", array.name, array.rows, array.row.str()));
    throw Error(ErrorKind::kData,
                fmt::format("{}: {}; it has {}. Write a config with HDF5Dataset by hand", request_.path, why,
                            all.empty() ? "no arrays of numbers" : join(all, ", ")));
  }
  const ArrayInFile& array(const std::string& name) const {
    return *std::ranges::find(arrays_, name, &ArrayInFile::name);
  }

  /// The best-named label array of a role, and with it the best-named, else the widest array of as many rows.
  Pair find(const std::string& role) const {
    const ArrayInFile *labels = nullptr, *inputs = nullptr;
    const auto better = [](const ArrayInFile* old, const ArrayInFile& found, const auto& names) {
      const auto key = [&](const ArrayInFile& a) {
        return std::pair(rank_of(split_name(a.name).word, names), -a.row.elements());
      };
      return old == nullptr || key(found) < key(*old);
    };
    for (const ArrayInFile& found : arrays_)
      if (const SplitName name = split_name(found.name); name.role == role && found.row.rank() == 1 &&
                                                         rank_of(name.word, kLabelNames) < kLabelNames.size() &&
                                                         better(labels, found, kLabelNames))
        labels = &found;
    if (labels == nullptr) return {};
    for (const ArrayInFile& found : arrays_)
      if (&found != labels && found.rows == labels->rows && split_name(found.name).role == role &&
          better(inputs, found, kInputNames))
        inputs = &found;
    if (inputs == nullptr) return {};
    return {.inputs = inputs->name, .labels = labels->name, .rows = labels->rows};
  }

  void inspect_labels() {
    data::HDF5DatasetSpec spec;
    spec.file.value = request_.path;
    spec.inputs.arrays = {{"", train_.inputs}};
    spec.labels.arrays = {{"", train_.labels}};
    source_ = open_train(data::dataset_family().make(spec));
    width_ = source_->label_width(0);
    if (source_->label_type(0) == data::LabelType::kClass) {
      std::int64_t least = 0, most = 0;
      for (std::int64_t i = 0; i < source_->size(); ++i) {
        const std::int64_t label = source_->label_class(i, 0);
        least = std::min(least, label), most = std::max(most, label);
      }
      if (least == 0 && most > 0 && most < kMaxArrayClasses) classes_ = most + 1;
    } else if (width_ > 1) {
      one_hot_ = true;
      std::vector<float> values(static_cast<std::size_t>(width_));
      for (std::int64_t i = 0; i < source_->size() && one_hot_; ++i) {
        source_->label_values(i, values.data(), 0);
        one_hot_ = std::ranges::count(values, 1.0F) == 1 && std::ranges::count(values, 0.0F) == width_ - 1;
      }
      if (one_hot_) classes_ = width_;
    }
    if (ids()) {
      std::vector<std::int32_t> row(static_cast<std::size_t>(row_.elements()));
      const std::int64_t step = std::max<std::int64_t>(1, source_->size() / kSampledArrayRows);
      for (std::int64_t i = 0; i < source_->size(); i += step) {
        source_->read_exact(i, 0, DType::kI32, row.data());
        const auto [least, most] = std::ranges::minmax(row);
        negative_ = negative_ || least < 0;
        largest_id_ = std::max<std::int64_t>(largest_id_, most);
      }
    }
  }

  bool ids() const {
    return array(train_.inputs).integers && !array(train_.inputs).bytes && row_.rank() == 1 && row_[0] > 1 &&
           !negative_;
  }
  bool image() const { return row_.rank() == 3 || (row_.rank() == 2 && array(train_.inputs).bytes); }

  std::string labels_text() const {
    if (classes_ > 0) return fmt::format("{} classes{}", classes_, one_hot_ ? " as rows with a single 1" : "");
    return width_ == 1 ? "a number each" : fmt::format("{} numbers each", width_);
  }

  std::string head() const {
    const std::string what = classes_ > 0 ? fmt::format("{} classes", classes_) : "Numbers";
    return head_of(request_.name,
                   fmt::format("# {} in {}, by `dptrain init --from`.\n", what, printable(request_.reference)),
                   "#   dptrain fit {0}.yaml\n#   dptrain eval runs/{0}/001\n");
  }

  std::string model() const {
    const Sizes sizes = sizes_for(train_.rows);
    std::string text;
    if (image()) {
      text = conv_model(row_.rank() == 3 ? row_ : Shape{row_[0], row_[1], 1});
    } else if (ids()) {
      text = fmt::format(
          "model:\n"
          "  layers:\n"
          "    - Input: {{shape: {}, dtype: int32}}\n"
          "    - Embedding: {{input_dim: {}, output_dim: 64, mask_zero: true}}\n"
          "    - Dropout: 0.3\n"
          "    - GlobalAveragePooling1D\n"
          "    - Dense: {{units: 64, activation: relu}}\n"
          "    - Dropout: 0.3\n",
          yaml_shape(row_), largest_id_ + 1);
    } else if (row_.rank() <= 2) {
      text = fmt::format(
          "model:\n  layers:\n    - Input: {{shape: {}}}\n    - BatchNormalization         # brings every "
          "number to one scale\n",
          yaml_shape(row_));
      if (row_.rank() == 2) text += "    - Bidirectional: {LSTM: 64}\n";
      for (const std::int64_t units : sizes.layers) {
        text += fmt::format("    - Dense: {{units: {}, activation: relu}}\n", units);
        if (sizes.dropout > 0) text += fmt::format("    - Dropout: {}\n", shortest(sizes.dropout));
      }
    } else {
      fail(fmt::format("a sample of '{}' is {}, expected numbers, a series, ids or an image", train_.inputs,
                       row_.str()));
    }
    if (classes_ > 0)
      return text + fmt::format("    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n", classes_);
    text += fmt::format("    - Dense: {{name: numbers, units: {}}}\n", width_);
    return text + (width_ == 1 ? rescaled_end(*source_, train_.labels) : "\n");
  }

  std::string data() const {
    const auto set = [&](const char* role, const Pair& arrays) {
      return fmt::format("  {}:\n    HDF5Dataset: {{file: {}, inputs: {}, labels: {}}}\n", role,
                         yaml_word(request_.reference), yaml_word(arrays.inputs), yaml_word(arrays.labels));
    };
    const std::string split =
        fmt::format("    Split: {{fraction: 0.15{}}}\n", classes_ > 0 ? ", stratified: true" : "");
    std::string text = "data:\n" + set("train", train_);
    text += validation_.inputs.empty() ? "  validation:\n" + split : set("validation", validation_);
    if (!test_.inputs.empty()) text += set("test", test_);
    if (array(train_.inputs).bytes && image()) text += "  transforms:\n    - Rescaling: {scale: 1/127.5, offset: -1}\n";
    return text + "\n";
  }

  std::string training() const {
    Sizes sizes = sizes_for(train_.rows);
    if (image()) sizes.epochs = 40, sizes.patience = 10;
    if (image() || ids()) sizes.batch = std::max<std::int64_t>(sizes.batch, 32);
    return training_of(sizes, classes_ > 0);
  }

  const DraftRequest& request_;
  const std::vector<ArrayInFile> arrays_;
  Pair train_, validation_, test_;
  std::shared_ptr<const data::Source> source_;
  Shape row_;
  std::int64_t width_ = 1, classes_ = 0, largest_id_ = 0;
  bool one_hot_ = false, negative_ = false;
};

}  // namespace

Draft draft_arrays(const DraftRequest& request) { return ArraysDraft(request).take(); }

}  // namespace dptrain::init
