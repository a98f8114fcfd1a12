#include "data/sources/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/format.h"
#include "core/random.h"
#include "data/sources/hash.h"
#include "data/sources/wrapped_source.h"

namespace dptrain::data {
namespace {

class Subset final : public WrappedSource {
 public:
  Subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices, std::string fingerprint)
      : WrappedSource(std::move(whole)), indices_(std::move(indices)), fingerprint_(std::move(fingerprint)) {}

  std::int64_t size() const override { return static_cast<std::int64_t>(indices_.size()); }
  const std::uint8_t* u8_rows(int input) const override { return wrapped().u8_rows(input); }
  const float* f32_rows(int input) const override { return wrapped().f32_rows(input); }
  std::int64_t row(std::int64_t index) const override { return wrapped().row(at(index)); }
  bool view(std::int64_t index, int input, ImageView& out) const override {
    return wrapped().view(at(index), input, out);
  }
  std::string fit(const std::vector<std::int64_t>& samples) const override {
    std::vector<std::int64_t> there;
    there.reserve(samples.size());
    for (const std::int64_t sample : samples) there.push_back(at(sample));
    return wrapped().fit(there);
  }
  std::shared_ptr<const Source> fitted_source(const std::string& fitted_state) const override {
    std::shared_ptr<const Source> whole = wrapped().fitted_source(fitted_state);
    return whole == nullptr ? nullptr : std::make_shared<Subset>(std::move(whole), indices_, fingerprint_);
  }
  std::string fingerprint() const override { return fingerprint_; }
  std::string cache_key() const override { return fingerprint_ + " in " + wrapped().cache_key(); }

 private:
  std::int64_t at(std::int64_t index) const override { return indices_[static_cast<std::size_t>(index)]; }

  std::vector<std::int64_t> indices_;
  std::string fingerprint_;
};

}  // namespace

std::shared_ptr<const Source> subset(std::shared_ptr<const Source> whole, std::vector<std::int64_t> indices,
                                     const std::string& label) {
  const std::uint64_t hash = hash_bytes(indices.data(), indices.size() * sizeof indices[0]);
  std::string fingerprint = fmt::format("{}:{}:{:016x} of {}", label, indices.size(), hash, whole->fingerprint());
  return std::make_shared<Subset>(std::move(whole), std::move(indices), std::move(fingerprint));
}

std::shared_ptr<const Source> take(std::shared_ptr<const Source> whole, std::int64_t count) {
  if (count >= whole->size()) return whole;
  std::vector<std::int64_t> indices(static_cast<std::size_t>(count));
  std::iota(indices.begin(), indices.end(), 0);
  return subset(std::move(whole), std::move(indices), "take");
}

namespace {

/// Moves `count` drawn elements to the front: the first `count` steps of a Fisher-Yates shuffle.
void draw(std::vector<std::int64_t>& from, std::size_t count, RandomStream& random) {
  for (std::size_t i = 0; i < count; ++i) std::swap(from[i], from[i + random.below(from.size() - i)]);
}

/// Divides `total` among groups in proportion to their sizes, by largest remainder; ties go to the first.
std::vector<std::size_t> shares(const std::vector<std::size_t>& sizes, std::size_t total) {
  const auto all = static_cast<double>(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  std::vector<std::size_t> share(sizes.size()), order(sizes.size());
  std::vector<double> remainder(sizes.size());
  std::size_t given = 0;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const double exact = static_cast<double>(sizes[g]) * static_cast<double>(total) / all;
    share[g] = static_cast<std::size_t>(exact);
    remainder[g] = exact - std::floor(exact);
    given += share[g];
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return remainder[a] > remainder[b]; });
  for (std::size_t i = 0; given < total; i = (i + 1) % order.size()) {
    if (share[order[i]] < sizes[order[i]]) ++share[order[i]], ++given;
  }
  return share;
}

[[noreturn]] void fail_empty(const Source& whole, double fraction) {
  throw Error(ErrorKind::kData,
              fmt::format("fraction {} of {} samples leaves one of the parts empty", fraction, whole.size()));
}

std::size_t held_count(const Source& whole, const std::vector<std::int64_t>& candidates, double fraction) {
  const auto count = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(whole.size())));
  if (count == 0 || count >= candidates.size()) fail_empty(whole, fraction);
  return count;
}

}  // namespace

SplitIndices split_last(const Source& whole, const std::vector<std::int64_t>& candidates, double fraction) {
  SplitIndices parts;
  const auto border = candidates.end() - static_cast<std::ptrdiff_t>(held_count(whole, candidates, fraction));
  parts.held_out.assign(border, candidates.end());
  const auto end = std::lower_bound(candidates.begin(), border, *border - whole.shared_before());
  parts.remaining.assign(candidates.begin(), end);
  if (parts.remaining.empty()) fail_empty(whole, fraction);
  return parts;
}

SplitIndices split_indices(const Source& whole, const std::vector<std::int64_t>& candidates, double fraction,
                           bool stratified, std::uint64_t seed, std::uint32_t stream) {
  const std::size_t count = held_count(whole, candidates, fraction);
  if (stratified && whole.label_type() != LabelType::kClass)
    throw Error(ErrorKind::kData, fmt::format("stratified needs one class for each sample, found {}; remove stratified",
                                              whole.label_type() == LabelType::kMap      ? "masks"
                                              : whole.label_type() == LabelType::kValues ? "rows of values"
                                                                                         : "no labels"));

  std::map<std::int64_t, std::vector<std::int64_t>> groups;
  for (const std::int64_t index : candidates) groups[stratified ? whole.label_class(index) : 0].push_back(index);
  std::vector<std::size_t> sizes;
  for (const auto& [klass, members] : groups) sizes.push_back(members.size());
  const std::vector<std::size_t> share = shares(sizes, count);

  RandomStream random(seed, static_cast<std::uint32_t>(Purpose::kSplit) + stream);
  SplitIndices parts;
  std::size_t g = 0;
  for (auto& [klass, members] : groups) {
    const std::size_t cut = share[g++];
    draw(members, cut, random);
    const auto middle = members.begin() + static_cast<std::ptrdiff_t>(cut);
    parts.held_out.insert(parts.held_out.end(), members.begin(), middle);
    parts.remaining.insert(parts.remaining.end(), middle, members.end());
  }
  std::sort(parts.held_out.begin(), parts.held_out.end());
  std::sort(parts.remaining.begin(), parts.remaining.end());
  return parts;
}

namespace {

const RegisteredDataset kSplitSet =
    dataset_def<SplitSpec>(
        config::Schema::of<SplitSpec>("Split")
            .doc("a share of another data set, which loses these samples")
            .key(key("of", &SplitSpec::of).doc("the data set that loses the samples: `train`, `validation` or `test`"))
            .positional(key("fraction", &SplitSpec::fraction)
                            .required()
                            .above(0)
                            .below(1)
                            .doc("share of that data set's samples"))
            .key(key("stratified", &SplitSpec::stratified).doc("whether to take the same fraction of every class"))
            .key(key("shuffle", &SplitSpec::shuffle)
                     .doc("whether samples are drawn; false: the last samples, as Keras's `validation_split`"))
            .key(key("seed", &SplitSpec::seed).doc("seed of the draw; default: the config's seed"))
            .rule<SplitSpec>([](const SplitSpec& spec) -> std::string {
              if (spec.seed && !spec.shuffle) return "seed is for drawn samples, and shuffle is false";
              return spec.stratified && !spec.shuffle ? "stratified draws samples, and shuffle is false" : "";
            }),
        nullptr)
        .part([](const SplitSpec& split) {
          return DatasetPart{split.of, split.fraction, split.stratified, split.shuffle, split.seed};
        });

}  // namespace
}  // namespace dptrain::data
