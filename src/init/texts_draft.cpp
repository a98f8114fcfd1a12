// init --from a folder of texts: finds classes and a usual length, and drafts a network of averaged word embeddings.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>

#include "core/error.h"
#include "core/format.h"
#include "core/quantity.h"
#include "core/text.h"
#include "data/sources/text.h"
#include "data/text/text_vectorization.h"
#include "init/draft.h"
#include "init/networks.h"

namespace dptrain::init {
namespace {

constexpr std::int64_t kSampledTexts = 1000;
constexpr std::int64_t kVocabulary = 20'000, kMaxWords = 500;
constexpr std::size_t kCovered = 95;  // percent of the texts that fit completely

std::int64_t words_in(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::distance(std::istream_iterator<std::string>(file), std::istream_iterator<std::string>());
}

class TextsDraft {
 public:
  explicit TextsDraft(const DraftRequest& request) : request_(request), roles_(roles_in(request.path)) {
    data::TextVectorizationSpec words;
    words.output_sequence_length = 1;
    data::TextSpec spec;
    spec.vectorization = data::encoder_family().make(words);
    source_ = open_folder(request, roles_, std::move(spec));
    std::vector<std::int64_t> lengths;
    const std::int64_t step = std::max<std::int64_t>(1, source_->size() / kSampledTexts);
    for (std::int64_t i = 0; i < source_->size(); i += step) lengths.push_back(words_in(source_->label_place(i)));
    std::ranges::sort(lengths);
    longest_ = lengths.back();
    length_ = std::clamp<std::int64_t>(lengths[(lengths.size() - 1) * kCovered / 100], 1, kMaxWords);
  }

  Draft take() const {
    std::vector<std::string> names = source_->class_names();
    for (std::string& name : names) name = printable(name);
    Draft draft;
    draft.findings.push_back(fmt::format("{}: {} of {}: {}", request_.path, counted(source_->size(), "text"),
                                         counted(names.size(), "class"), join(names, ", ")));
    draft.findings.push_back(
        fmt::format("  up to {} words; the network gets the first {}", with_commas(longest_), length_));
    if (!roles_.test.empty()) draft.findings.push_back(fmt::format("{}/ is the test set", roles_.test));
    draft.yaml = text();
    return draft;
  }

 private:
  std::string set(const char* role, const std::string& name) const {
    return fmt::format(
        "  {}:\n    Text:\n      directory: {}\n      vectorization: {{TextVectorization: {{max_tokens: {}, "
        "output_sequence_length: {}}}}}\n      on_error: skip\n",
        role, yaml_word(below(request_.reference, name)), kVocabulary, length_);
  }

  std::string text() const {
    const auto classes = source_->class_names().size();
    std::string all = head_of(
        request_.name,
        fmt::format(
            "# Texts of {} classes in {}, by `dptrain init --from`: the average of word vectors, and two layers.\n",
            classes, printable(request_.reference)),
        "#   dptrain fit {0}.yaml\n#   echo 'a sentence' | dptrain predict runs/{0}/001 --input -\n");
    all += fmt::format(
        "model:\n"
        "  layers:\n"
        "    - Input: {{shape: [{}], dtype: int32}}           # words by their place in the vocabulary; 0 is padding\n"
        "    - Embedding: {{input_dim: {}, output_dim: 64, mask_zero: true}}\n"
        "    - Dropout: 0.3\n"
        "    - GlobalAveragePooling1D\n"
        "    - Dense: {{units: 64, activation: relu}}\n"
        "    - Dropout: 0.3\n"
        "    - Dense: {{name: classes, units: {}, activation: softmax}}\n\n",
        length_, kVocabulary, classes);
    all += sets_of_roles(roles_, [this](const char* role, const std::string& name) { return set(role, name); });
    if (roles_.test.empty() && source_->size() >= 300)
      all += "  test:\n    Split: {fraction: 0.15, stratified: true}\n";
    return all + fmt::format(
                     "\ntrain:\n"
                     "  epochs: 100\n"
                     "  batch_size: {}\n"
                     "  optimizer:\n"
                     "    Adam: {{learning_rate: 2e-3}}\n"
                     "  loss: categorical_crossentropy\n"
                     "  metrics: [accuracy]\n\n"
                     "callbacks:\n"
                     "  - ModelCheckpoint: {{monitor: val_loss, save_best_only: true}}\n"
                     "  - EarlyStopping: {{monitor: val_loss, patience: 8, restore_best_weights: true}}\n",
                     source_->size() < 10'000 ? 32 : 128);
  }

  const DraftRequest& request_;
  const Roles roles_;
  std::shared_ptr<const data::Source> source_;
  std::int64_t longest_ = 0, length_ = 0;
};

}  // namespace

Draft draft_texts(const DraftRequest& request) { return TextsDraft(request).take(); }

}  // namespace dptrain::init
