// Loaders that each make a share of every batch, as the processes of a run do.

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "data/agreement.h"
#include "data/loader_batches.h"
#include "data/transform.h"
#include "data/transforms/colour.h"
#include "data/transforms/geometry.h"
#include "data/transforms/mixing.h"

namespace dptrain::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kWidth = 6;

/// Records the reads; samples listed by the test are unreadable. One object per process.
class SharedFiles final : public VectorSource {
 public:
  explicit SharedFiles(std::int64_t size, std::set<std::int64_t> bad = {}, const OnError& policy = {.skip = true})
      : VectorSource(size, Shape{2, 3, 1}), reads_(static_cast<std::size_t>(size)), bad_(std::move(bad)) {
    contiguous = false;
    for (std::int64_t i = 0; i < size; ++i) classes.push_back(i % 4);
    account = std::make_shared<BadSamples>(policy, size, "files");
  }
  void read(std::int64_t index, int input, Array& out, const ReadHint& hint) const override {
    ++reads_[static_cast<std::size_t>(index)];
    if (bad_.contains(index))
      throw SampleError({.file = "file " + std::to_string(index), .byte = index, .reason = "gone"});
    VectorSource::read(index, input, out, hint);
  }
  std::shared_ptr<BadSamples> bad_samples() const override { return account; }
  std::set<std::int64_t> read() const {
    std::set<std::int64_t> all;
    for (std::size_t i = 0; i < reads_.size(); ++i)
      if (reads_[i] > 0) all.insert(static_cast<std::int64_t>(i));
    return all;
  }
  std::shared_ptr<BadSamples> account;

 private:
  mutable std::vector<std::atomic<int>> reads_;
  const std::set<std::int64_t> bad_;
};

/// A process's rows of a batch, and its counts of the whole batch.
struct Part {
  std::int64_t first = 0, end = 0;
  std::vector<std::int64_t> indices{}, missing{};
  RowRange own{};
  std::vector<std::int64_t> samples{};
  std::vector<float> inputs{};
  std::vector<std::int32_t> labels{};
};

Part part_of(const Batch& batch) {
  const BatchView view = batch.view();
  Part part{.first = batch.first(), .end = batch.end(), .indices = batch.indices(), .own = batch.own()};
  EXPECT_EQ(view.first_row, part.own.first);
  EXPECT_EQ(view.rows, part.own.count);
  EXPECT_EQ(view.positions().count, part.end - part.first);
  EXPECT_EQ(view.positions().rows(), batch.rows());
  part.missing = view.positions().missing;
  part.samples.assign(batch.own_indices().begin(), batch.own_indices().end());
  part.inputs.assign(batch.input(0), batch.input(0) + part.own.count * kWidth);
  const auto* const labels = static_cast<const std::int32_t*>(batch.labels());
  part.labels.assign(labels, labels + part.own.count);
  return part;
}

std::vector<Part> parts_of(Loader& loader, int epochs) {
  std::vector<Part> all;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next()) all.push_back(part_of(batch));
    loader.next_epoch();
  }
  return all;
}

/// Process p of n: shares differ by at most one row, earlier ones are larger.
std::function<RowRange(std::int64_t, std::int64_t)> even_share(std::int64_t p, std::int64_t n) {
  return [p, n](std::int64_t positions, std::int64_t) {
    const auto first = [&](std::int64_t of) { return of * (positions / n) + std::min(of, positions % n); };
    return RowRange{first(p), first(p + 1) - first(p)};
  };
}

Pipeline random_pipeline() {
  return Pipeline(
      {transform_family().make(RandomFlipSpec{}), transform_family().make(RandomBrightnessSpec{{0.2}, {0, 5000}})},
      false);
}

/// Concatenating the processes' parts of a batch gives the batch of one process.
void expect_tiles(const std::vector<std::vector<Part>>& processes, const std::vector<Part>& whole) {
  for (const std::vector<Part>& one : processes) ASSERT_EQ(one.size(), whole.size());
  for (std::size_t b = 0; b < whole.size(); ++b) {
    SCOPED_TRACE(b);
    Part all;
    for (const std::vector<Part>& one : processes) {
      const Part& part = one[b];
      EXPECT_EQ(part.first, whole[b].first);
      EXPECT_EQ(part.end, whole[b].end);
      EXPECT_EQ(part.indices, whole[b].indices);
      EXPECT_EQ(part.missing, whole[b].missing);
      EXPECT_EQ(part.own.first, all.own.count) << "numbered as in the whole";
      all.own.count += part.own.count;
      all.samples.insert(all.samples.end(), part.samples.begin(), part.samples.end());
      all.inputs.insert(all.inputs.end(), part.inputs.begin(), part.inputs.end());
      all.labels.insert(all.labels.end(), part.labels.begin(), part.labels.end());
    }
    EXPECT_EQ(all.own, whole[b].own);
    EXPECT_EQ(all.samples, whole[b].samples);
    EXPECT_EQ(all.inputs, whole[b].inputs);
    EXPECT_EQ(all.labels, whole[b].labels);
  }
}

TEST(LoaderShare, ChangingSharesTileTheBatches) {
  constexpr std::int64_t kBatch = 7, kSamples = 25, kBatches = 4;
  Loader one(numbered_source(kSamples), random_pipeline(), kLoaderModel, kLoaderClasses, loader_options(kBatch));
  const std::vector<Part> whole = parts_of(one, 3);
  std::vector<std::vector<Part>> processes;
  std::vector<std::int64_t> counts, numbers;
  for (std::int64_t p = 0; p < 2; ++p) {
    LoaderOptions options = loader_options(kBatch, 2);
    options.sets_number = true;
    // In the second epoch, the first process has more rows than in a full batch of the first.
    options.share = [p](std::int64_t positions, std::int64_t number) {
      const std::int64_t first = number < kBatches ? positions / 3 : positions - 1;
      return p == 0 ? RowRange{0, first} : RowRange{first, positions - first};
    };
    Loader loader(numbered_source(kSamples), random_pipeline(), kLoaderModel, kLoaderClasses, options);
    processes.push_back(parts_of(loader, 3));
    loader.seek(1, kBatch);
    const Batch batch = loader.next();
    numbers.push_back(batch.view().number);
    counts.push_back(batch.own().count);
  }
  expect_tiles(processes, whole);
  EXPECT_THAT(numbers, ElementsAre(kBatches + 1, kBatches + 1));
  EXPECT_THAT(counts, ElementsAre(kBatch - 1, 1));
}

TEST(LoaderShare, SharesTileTheBatches) {
  for (const std::int64_t batch : {1, 7, 11, 40}) {
    Loader one(numbered_source(25), random_pipeline(), kLoaderModel, kLoaderClasses, loader_options(batch));
    const std::vector<Part> whole = parts_of(one, 2);
    for (const std::int64_t n : {1, 2, 3}) {
      SCOPED_TRACE(std::to_string(n) + " processes, batch " + std::to_string(batch));
      std::vector<std::vector<Part>> processes;
      for (std::int64_t p = 0; p < n; ++p) {
        LoaderOptions options = loader_options(batch, static_cast<int>(1 + p));
        options.share = even_share(p, n);
        Loader loader(numbered_source(25, p == 0), random_pipeline(), kLoaderModel, kLoaderClasses, options);
        processes.push_back(parts_of(loader, 2));
      }
      expect_tiles(processes, whole);
    }
  }
}

TEST(LoaderShare, ReadsOnlyTheShare) {
  LoaderOptions options = loader_options(7, 2, 1);
  options.shuffle.kind = Shuffle::Kind::kNone;
  std::set<std::int64_t> all;
  for (std::int64_t p = 0; p < 3; ++p) {
    const auto source = std::make_shared<SharedFiles>(25);
    options.share = even_share(p, 3);
    options.agree = [](const std::vector<BadRow>& own) { return own; };
    Loader loader(source, {}, kLoaderModel, kLoaderClasses, options);
    std::set<std::int64_t> expected;
    for (std::int64_t first = 0; first < 25; first += 7) {
      const Batch batch = loader.next();
      const RowRange own = options.share(std::min<std::int64_t>(7, 25 - first), 0);
      EXPECT_EQ(batch.own(), own);
      for (std::int64_t i = own.first; i < own.end(); ++i) expected.insert(first + i);
    }
    EXPECT_EQ(loader.next().rows(), 0);
    loader.seek(1, 25);  // discards the prefetched batches, which are of the same share
    EXPECT_EQ(source->read(), expected);
    all.merge(expected);
    EXPECT_THAT(expected, IsEmpty()) << "read by no other process";
  }
  EXPECT_EQ(all.size(), 25U);
}

TEST(LoaderShare, MixedSamplesAreTheSame) {
  MixUpSpec spec;
  spec.alpha = 1;
  const Pipeline mixing({transform_family().make(RandomFlipSpec{}), transform_family().make(spec)}, false);
  const std::vector<LabelForm> dense{{.output = "digits", .kind = nn::LabelKind::kDense, .width = 4}};
  const auto values = [&](const Batch& batch) {
    std::vector<float> all(batch.input(0), batch.input(0) + batch.own().count * kWidth);
    const auto* const labels = static_cast<const float*>(batch.labels());
    all.insert(all.end(), labels, labels + batch.own().count * 4);
    return all;
  };
  LoaderOptions options = loader_options(25);
  Loader one(numbered_source(25, false), mixing, kLoaderModel, dense, options);
  options.share = [](std::int64_t positions, std::int64_t) { return RowRange{3, positions - 5}; };
  Loader part(numbered_source(25, false), mixing, kLoaderModel, dense, options);
  const Batch whole = one.next(), own = part.next();
  ASSERT_EQ(own.own(), (RowRange{3, 20}));
  const std::vector<float> all = values(whole), found = values(own);
  for (std::size_t i = 0; i < 20 * kWidth; ++i) EXPECT_EQ(found[i], all[3 * kWidth + i]);
  for (std::size_t i = 0; i < 20 * 4; ++i) EXPECT_EQ(found[20 * kWidth + i], all[25 * kWidth + 3 * 4 + i]);
}

TEST(LoaderShare, DevicesGetTheIndicesOfTheirSamples) {
  for (const BatchForm form : {BatchForm::kSamples, BatchForm::kRows}) {
    LoaderOptions options = loader_options(7);
    options.form = form;
    options.dataset = 4;
    options.share = even_share(1, 2);
    Loader loader(numbered_source(25), {}, kLoaderModel, kLoaderClasses, options);
    const auto order = Loader::order(25, {}, 11, 0);
    for (std::int64_t first = 0; first < 25; first += 7) {
      const Batch batch = loader.next();
      const BatchView view = batch.view();
      EXPECT_EQ(view.dataset, 4);
      ASSERT_EQ(view.rows, options.share(batch.end() - batch.first(), 0).count);
      for (std::int64_t row = 0; row < view.rows; ++row) {
        const std::int64_t sample = order[static_cast<std::size_t>(first + view.first_row + row)];
        EXPECT_EQ(view.samples.as<std::int64_t>()[row], sample);
        if (form == BatchForm::kSamples) continue;
        EXPECT_EQ(view.raw[0].as<float>()[row * kWidth + 5], static_cast<float>(100 * sample + 5));
      }
    }
  }
}

TEST(LoaderShare, MayBeEmptyAndLargerInAShortBatch) {
  LoaderOptions options = loader_options(8, 2);
  options.share = [](std::int64_t positions, std::int64_t) { return RowRange{0, positions == 8 ? 0 : positions}; };
  Loader loader(numbered_source(19), {}, kLoaderModel, kLoaderClasses, options);
  const std::vector<Part> parts = parts_of(loader, 2);
  ASSERT_EQ(parts.size(), 6U);
  for (std::size_t b = 0; b < parts.size(); ++b) {
    EXPECT_EQ(parts[b].indices.size(), b % 3 < 2 ? 8U : 3U) << "those of all processes";
    EXPECT_EQ(parts[b].own.count, b % 3 < 2 ? 0 : 3);
  }
  EXPECT_EQ(parts[2].inputs[0], static_cast<float>(100 * parts[2].samples[0]));
}

TEST(LoaderShare, RejectsInvalidOptions) {
  LoaderOptions options = loader_options(8);
  options.share = [](std::int64_t positions, std::int64_t) { return RowRange{1, positions}; };
  EXPECT_EQ(
      error_of(ErrorKind::kInternal, [&] { Loader(numbered_source(9), {}, kLoaderModel, kLoaderClasses, options); }),
      "positions 1 to 9 of a batch of 8");
  options.share = even_share(0, 2);
  EXPECT_EQ(error_of(ErrorKind::kInternal,
                     [&] { Loader(std::make_shared<SharedFiles>(9), {}, kLoaderModel, kLoaderClasses, options); }),
            "a loader with a share may skip samples only if `agree` is set");
}

// Bad samples.

/// Parts and counts of n processes, each on its own thread, up to the end or an error.
struct Processes {
  std::vector<std::vector<Part>> parts;
  std::vector<std::vector<std::string>> accounts;
  std::vector<std::string> errors;
};

Processes run_processes(int n, std::int64_t batch, std::int64_t size, const std::set<std::int64_t>& bad,
                        const OnError& policy = {.skip = true}) {
  Processes all;
  all.parts.resize(static_cast<std::size_t>(n));
  all.accounts.resize(static_cast<std::size_t>(n));
  all.errors.resize(static_cast<std::size_t>(n));
  Agreement agreement(n);
  std::vector<std::thread> threads;
  for (int p = 0; p < n; ++p)
    threads.emplace_back([&, p] {
      const auto i = static_cast<std::size_t>(p);
      const auto source = std::make_shared<SharedFiles>(size, bad, policy);
      LoaderOptions options = loader_options(batch, 1 + p);
      options.shuffle.kind = Shuffle::Kind::kNone;
      if (n > 1) {
        options.share = even_share(p, n);
        options.agree = agreement.exchange_of(p);
      }
      Loader loader(source, {}, kLoaderModel, kLoaderClasses, options);
      try {
        for (int epoch = 0; epoch < 2; ++epoch, loader.next_epoch())
          for (Batch b = loader.next(); b.rows() > 0; b = loader.next()) all.parts[i].push_back(part_of(b));
      } catch (const Error& error) {
        all.errors[i] = error.what();
        EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.next(); }), error.what()) << "without an agreement";
      }
      for (const BadSample& sample : source->account->all()) all.accounts[i].push_back(sample.file);
    });
  for (std::thread& thread : threads) thread.join();
  return all;
}

/// 23 samples in batches of 8: shares of 4 + 4 and 4 + 3 for two processes, 3 + 3 + 2 and so on for three.
TEST(LoaderShare, BadSamplesLeaveEmptyPositions) {
  const std::set<std::int64_t> at_borders{0, 3, 4, 7, 8, 15, 19, 22}, a_share{4, 5, 6, 7, 16},
      a_batch{8, 9, 10, 11, 12, 13, 14, 15, 1}, all_but_one{0, 1, 2, 3, 4, 6, 7};
  for (const std::set<std::int64_t>& bad : {at_borders, a_share, a_batch, all_but_one}) {
    SCOPED_TRACE(::testing::PrintToString(bad));
    const Processes one = run_processes(1, 8, 23, bad);
    EXPECT_EQ(one.accounts[0].size(), bad.size());
    EXPECT_EQ(one.parts[0].size(), bad.size() == 9 ? 4U : 6U) << "a batch without rows is skipped";
    for (const Part& part : one.parts[0]) {
      std::vector<std::int64_t> expected, missing;
      for (std::int64_t i = part.first; i < part.end; ++i)
        bad.contains(i) ? missing.push_back(i - part.first) : expected.push_back(i);
      EXPECT_EQ(part.indices, expected);
      EXPECT_EQ(part.missing, missing);
    }
    for (const int n : {2, 3, 5}) {
      SCOPED_TRACE(n);
      const Processes several = run_processes(n, 8, 23, bad);
      expect_tiles(several.parts, one.parts[0]);
      for (const auto& account : several.accounts) EXPECT_EQ(account, one.accounts[0]);
      for (const std::string& error : several.errors) EXPECT_EQ(error, "");
      for (const std::vector<Part>& parts : several.parts)
        for (const Part& part : parts)
          for (std::size_t row = 0; row < part.samples.size(); ++row)
            EXPECT_EQ(part.inputs[row * kWidth + 2], static_cast<float>(100 * part.samples[row] + 2));
    }
  }
}

TEST(LoaderShare, LimitsBadSamplesOfAllProcessesTogether) {
  const std::set<std::int64_t> bad{1, 6, 9, 14, 17};
  for (const int n : {1, 2, 3}) {
    const Processes found = run_processes(n, 8, 23, bad, {.skip = true, .max_count = 3});
    for (std::size_t p = 0; p < static_cast<std::size_t>(n); ++p) {
      EXPECT_EQ(found.errors[p],
                "files: 4 of 23 files cannot be read, more than on_error allows (3); the last one: file 14: byte 14: "
                "gone");
      EXPECT_THAT(found.accounts[p], ElementsAre("file 1", "file 6", "file 9", "file 14"));
      EXPECT_EQ(found.parts[p].size(), 1U);
    }
  }
}

TEST(LoaderShare, AnEpochWithoutGoodSamplesEndsAllProcesses) {
  std::set<std::int64_t> bad;
  for (std::int64_t i = 0; i < 23; ++i) bad.insert(i);
  const Processes found = run_processes(2, 8, 23, bad);
  for (const std::string& error : found.errors)
    EXPECT_EQ(error, "none of the 23 samples can be read; the last one: file 22: byte 22: gone");
}

TEST(LoaderShare, FatalBadSamplesNeedNoAgreement) {
  const auto source = std::make_shared<SharedFiles>(9, std::set<std::int64_t>{5}, OnError{});
  LoaderOptions options = loader_options(8);
  options.shuffle.kind = Shuffle::Kind::kNone;
  options.share = even_share(1, 2);
  options.agree = [](const std::vector<BadRow>& own) { return ADD_FAILURE(), own; };
  Loader loader(source, {}, kLoaderModel, kLoaderClasses, options);
  EXPECT_EQ(error_of(ErrorKind::kData, [&] { loader.next(); }),
            "file 5: byte 5: gone (on_error: skip leaves such files out)");
}

TEST(LoaderShare, RejectsAnInvalidAgreement) {
  const BadRow own{.position = 5, .sample = {.file = "file 5", .byte = 5, .reason = "gone"}};
  const BadRow other{.position = 2, .sample = {.file = "file 2", .byte = 0, .reason = "gone"}};
  const auto message = [&](const std::vector<BadRow>& answer) {
    LoaderOptions options = loader_options(8);
    options.shuffle.kind = Shuffle::Kind::kNone;
    options.share = even_share(1, 2);
    options.agree = [&](const std::vector<BadRow>&) { return answer; };
    Loader loader(std::make_shared<SharedFiles>(9, std::set<std::int64_t>{5}), {}, kLoaderModel, kLoaderClasses,
                  options);
    return error_of(ErrorKind::kInternal, [&] { loader.next(); });
  };
  EXPECT_THAT(message({}), HasSubstr("this process has 1 bad samples, the others agree on 0"));
  EXPECT_THAT(message({own, other}), HasSubstr("position 2 after 5 in a batch of 8"));
  EXPECT_THAT(message({own, own}), HasSubstr("position 5 after 5"));
  BadRow beyond = other;
  beyond.position = 8;
  EXPECT_THAT(message({own, beyond}), HasSubstr("position 8 after 5"));
}

TEST(BadRows, SerializeForOtherProcesses) {
  const std::vector<BadRow> first{{.position = 3, .sample = {.file = "a/b c.jpg", .byte = -1, .reason = ""}},
                                  {.position = 1LL << 40, .sample = {.file = "", .byte = 77, .reason = "no\nend"}}};
  const std::vector<BadRow> second{{.position = 0, .sample = {.file = "x", .byte = 0, .reason = "y"}}};
  EXPECT_TRUE(to_bytes({}).empty());
  EXPECT_EQ(bad_rows_of(to_bytes(first)), first);
  std::vector<std::byte> both = to_bytes(first);
  const std::size_t border = both.size();
  const std::vector<std::byte> more = to_bytes(second);
  both.insert(both.end(), more.begin(), more.end());
  EXPECT_EQ(bad_rows_of(both), (std::vector<BadRow>{first[0], first[1], second[0]}));
  for (std::size_t size = border + 1; size < both.size(); ++size)
    EXPECT_THAT(error_of(ErrorKind::kInternal, [&] { bad_rows_of(std::span(both).first(size)); }),
                HasSubstr("cut short"));
  for (const std::int64_t length : {std::int64_t{-1}, std::int64_t{1} << 62}) {  // length of the file's name
    std::vector<std::byte> broken = more;
    std::memcpy(broken.data() + 16, &length, sizeof length);
    EXPECT_THAT(error_of(ErrorKind::kInternal, [&] { bad_rows_of(broken); }), HasSubstr("cut short"));
  }
}

}  // namespace
}  // namespace dptrain::data
