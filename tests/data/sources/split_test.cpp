#include "data/sources/split.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "data/fixtures.h"
#include "data/sources/idx_source.h"
#include "data/sources/synthetic.h"

namespace dptrain::data {
namespace {

using config::Typed;

std::vector<std::int64_t> all(std::int64_t n) {
  std::vector<std::int64_t> indices(static_cast<std::size_t>(n));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// 50 of class 0, 30 of class 1, 23 of class 2.
VectorSource uneven() {
  VectorSource source(103, {2});
  source.classes.assign(50, 0);
  source.classes.insert(source.classes.end(), 30, 1);
  source.classes.insert(source.classes.end(), 23, 2);
  return source;
}

TEST(SplitLast, TakesTheEnd) {
  const VectorSource source = uneven();
  SplitIndices parts = split_last(source, all(103), 0.2);
  EXPECT_EQ(parts.held_out.size(), 21U);
  EXPECT_EQ(parts.held_out.front(), 82);
  EXPECT_EQ(parts.remaining, all(82));
  parts = split_last(source, {1, 3, 5, 7}, 0.02);
  EXPECT_EQ(parts.held_out, (std::vector<std::int64_t>{5, 7}));
  EXPECT_EQ(parts.remaining, (std::vector<std::int64_t>{1, 3}));
  EXPECT_THROW(split_last(source, all(10), 0.2), Error);
}

TEST(SplitIndices, AreDisjointAndComplete) {
  const VectorSource source = uneven();
  for (const bool stratified : {false, true}) {
    const SplitIndices parts = split_indices(source, all(103), 0.2, stratified, 5, 1);
    EXPECT_EQ(parts.held_out.size(), 21U);  // 20.6
    EXPECT_TRUE(std::is_sorted(parts.held_out.begin(), parts.held_out.end()));
    std::set<std::int64_t> seen(parts.held_out.begin(), parts.held_out.end());
    seen.insert(parts.remaining.begin(), parts.remaining.end());
    EXPECT_EQ(seen.size(), 103U);
    EXPECT_EQ(parts.held_out.size() + parts.remaining.size(), 103U);
  }
}

TEST(SplitIndices, SeedDecides) {
  const VectorSource source = uneven();
  const auto held_out = [&](std::uint64_t seed) {
    return split_indices(source, all(103), 0.2, false, seed, 1).held_out;
  };
  EXPECT_EQ(held_out(5), held_out(5));
  EXPECT_NE(held_out(5), held_out(6));
}

TEST(SplitIndices, StratifiedKeepsProportions) {
  const VectorSource source = uneven();
  std::map<std::int64_t, int> count;
  for (const std::int64_t i : split_indices(source, all(103), 0.2, true, 5, 1).held_out)
    ++count[source.label_class(i, 0)];
  // Shares of 21 are 10.19, 6.12, 4.69: the largest remainder gets the last one.
  EXPECT_EQ(count, (std::map<std::int64_t, int>{{0, 10}, {1, 6}, {2, 5}}));
}

TEST(SplitIndices, DrawsSamplesUniformly) {
  const VectorSource source(10, {1});
  std::array<int, 10> drawn{};
  for (std::uint64_t seed = 0; seed < 1000; ++seed)
    for (const std::int64_t i : split_indices(source, all(10), 0.3, false, seed, 1).held_out)
      ++drawn[static_cast<std::size_t>(i)];
  for (const int times : drawn) EXPECT_NEAR(times, 300, 75);  // five standard deviations of 14.5
}

TEST(SplitIndices, RejectsInvalidArguments) {
  const VectorSource source(10, {1});
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { split_indices(source, all(10), 0.04, false, 0, 1); }),
            "fraction 0.04 of 10 samples leaves one of the parts empty");
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { split_indices(source, all(10), 0.96, false, 0, 1); }),
            "fraction 0.96 of 10 samples leaves one of the parts empty");
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { split_indices(source, all(10), 0.5, true, 0, 1); }),
            "stratified needs one class for each sample, found no labels; remove stratified");
}

Typed synthetic(std::int64_t samples, std::optional<std::int64_t> take = {}) {
  SyntheticSpec spec;
  spec.samples = samples;
  spec.take = take;
  return dataset_family().make(spec);
}
Typed split(const std::string& of, double fraction, bool stratified = false) {
  SplitSpec spec;
  spec.of = of;
  spec.fraction = fraction;
  spec.stratified = stratified;
  return dataset_family().make(spec);
}
const ModelSide kSplitModel = model_of({3, 3, 1}, {4});

std::set<std::int64_t> rows(const Source& source) {
  std::set<std::int64_t> all;
  for (std::int64_t i = 0; i < source.size(); ++i) all.insert(source.row(i));
  return all;
}

TEST(OpenSources, TwoSplitsOfOneDataSetNeverOverlap) {
  const Sources sources = open_sources(
      {.train = synthetic(100), .validation = split("train", 0.2, true), .test = split("train", 0.3)}, kSplitModel, 9);
  EXPECT_EQ(sources.train->size(), 50);
  EXPECT_EQ(sources.validation->size(), 20);
  EXPECT_EQ(sources.test->size(), 30);
  std::set<std::int64_t> seen = rows(*sources.train);
  seen.merge(rows(*sources.validation));
  seen.merge(rows(*sources.test));
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_NE(sources.train->fingerprint(), sources.validation->fingerprint());
  const auto some = take(sources.validation, 5);
  for (std::int64_t i = 0; i < some->size(); ++i) EXPECT_EQ(some->whole_index(i), sources.validation->row(i));
}

/// fit opens no test set, eval no training set; their samples must stay disjoint.
TEST(OpenSources, EveryCommandGivesASampleTheSameRole) {
  const std::vector<DatasetConfig> configs{
      {synthetic(100), split("train", 0.2), split("train", 0.3)},
      {synthetic(100), {}, split("train", 0.5)},
      {synthetic(100), synthetic(60, 50), split("validation", 0.4)},
      {synthetic(100), split("test", 0.4), synthetic(50)},
      {synthetic(100), split("train", 0.4), synthetic(50)},
  };
  for (std::size_t c = 0; c < configs.size(); ++c) {
    const Sources whole = open_sources(configs[c], kSplitModel, 9);
    for (unsigned bits = 1; bits < 8; ++bits) {
      SCOPED_TRACE(testing::Message() << "config " << c << ", roles " << bits);
      const RoleSelection wanted{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
      const Sources some = open_sources(configs[c], kSplitModel, 9, wanted);
      const auto compare = [](bool asked, const std::shared_ptr<const Source>& found,
                              const std::shared_ptr<const Source>& expected) {
        ASSERT_EQ(found != nullptr, asked && expected != nullptr);
        if (found) {
          EXPECT_EQ(rows(*found), rows(*expected));
        }
      };
      compare(wanted.train, some.train, whole.train);
      compare(wanted.validation, some.validation, whole.validation);
      compare(wanted.test, some.test, whole.test);
    }
  }
}

TEST(OpenSources, PartsShareTheMemoryOfTheDataSet) {
  const Sources sources =
      open_sources({.train = synthetic(100), .validation = split("train", 0.2), .test = {}}, kSplitModel, 9);
  EXPECT_EQ(sources.train->f32_rows(0), sources.validation->f32_rows(0));
  Array sample;
  sources.validation->read(3, 0, sample);
  EXPECT_EQ(sample.f32[4], sources.validation->f32_rows(0)[sources.validation->row(3) * 9 + 4]);
}

TEST(OpenSources, TakeComesBeforeTheSplit) {
  const Sources sources = open_sources(
      {.train = synthetic(100, 40), .validation = split("train", 0.25), .test = synthetic(30, 99)}, kSplitModel, 0);
  EXPECT_EQ(sources.train->size(), 30);
  EXPECT_EQ(sources.validation->size(), 10);
  EXPECT_EQ(sources.test->size(), 30);
}

TEST(OpenSources, RejectsInvalidSplits) {
  const auto refusal = [](const Typed& train, const Typed& validation, ErrorKind kind = ErrorKind::kUsage) {
    return error_of(kind,
                    [&] { open_sources({.train = train, .validation = validation, .test = {}}, kSplitModel, 0); });
  };
  EXPECT_EQ(refusal(synthetic(9), split("trian", 0.5)),
            "Split: of must be train, validation or test, found 'trian'; did you mean 'train'?");
  EXPECT_EQ(refusal(synthetic(9), split("validation", 0.5)),
            "Split: of names 'validation', which is this data set itself");
  EXPECT_EQ(refusal(synthetic(9), split("test", 0.5)), "Split: of names 'test', but there is no data set data.test");
  EXPECT_EQ(refusal(split("validation", 0.5), split("train", 0.5)),
            "Split: of names 'validation', which is a Split itself; name the data set that both are part of");
  EXPECT_EQ(refusal(synthetic(9), split("train", 1.0)), "Split: fraction must be between 0 and 1, found 1");
  EXPECT_EQ(refusal(synthetic(9), split("train", 0.01), ErrorKind::kData),
            "Split: fraction 0.01 of 9 samples leaves one of the parts empty");
}

TEST(OpenSources, ClassNamesMustMatchTheModel) {
  SyntheticSpec spec;
  spec.class_names = {"a", "b"};
  EXPECT_EQ(
      error_of(
          ErrorKind::kUsage,
          [&] { open_sources({.train = dataset_family().make(spec), .validation = {}, .test = {}}, kSplitModel, 0); }),
      "Synthetic: class_names lists 2 names, but the model has 4 outputs");
}

TEST(SyntheticSources, ReplaceEveryDataSet) {
  IDXSpec idx;
  idx.inputs.paths = {{"", {"/nowhere"}}};
  idx.take = 64;
  idx.class_names = {"a", "b", "c", "d"};
  const Sources sources = synthetic_sources(
      {.train = dataset_family().make(idx), .validation = split("train", 0.1), .test = {}}, kSplitModel, 3);
  EXPECT_EQ(sources.train->size(), 64);
  EXPECT_EQ(sources.train->class_names().size(), 4U);
  ModelSide named = kSplitModel;
  named.output_names = {"kind"};
  idx.class_names = {};
  idx.class_names.add("kind", {"w", "x", "y", "z"});
  EXPECT_EQ(synthetic_sources({.train = dataset_family().make(idx), .validation = {}, .test = {}}, named, 3)
                .train->class_names()
                .front(),
            "w");
  EXPECT_EQ(sources.validation->size(), 2000);
  EXPECT_EQ(sources.test, nullptr);
  EXPECT_EQ(synthetic_sources({}, kSplitModel, 3).train->size(), 10000);
  EXPECT_EQ(synthetic_sources({.train = synthetic(123), .validation = {}, .test = {}}, kSplitModel, 3).train->size(),
            123);
}

}  // namespace
}  // namespace dptrain::data
