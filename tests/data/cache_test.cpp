#include "data/cache.h"

#include <gmock/gmock.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/machine.h"
#include "data/fixtures.h"
#include "data/loader.h"
#include "data/transform.h"
#include "data/transforms/cropping.h"
#include "data/transforms/geometry.h"
#include "data/transforms/normalization.h"

namespace dptrain::data {
namespace {

namespace fs = std::filesystem;
const std::vector<LabelForm> kNoLabels;

/// Images of different sizes that are generated on read; counts the reads.
class Photos : public VectorSource {
 public:
  explicit Photos(std::int64_t size, bool one_size = false) : VectorSource(size, Shape{2, 3, 1}), one_size_(one_size) {
    contiguous = false;
  }
  Shape input_shape(int) const override { return one_size_ ? Shape{7, 9, 3} : Shape{}; }
  void read(std::int64_t index, int, Array& out, const ReadHint&) const override {
    ++reads;
    if (index == broken) throw SampleError({.file = "broken.jpg", .byte = 3, .reason = "gone"});
    out.shape = one_size_ ? Shape{7, 9, 3} : Shape{7 + index % 3, 9 + index % 4, 3};
    out.type = DType::kU8;
    out.u8.resize(static_cast<std::size_t>(out.shape.elements()));
    for (std::size_t i = 0; i < out.u8.size(); ++i)
      out.u8[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(index) * 31 + i * 7);
  }
  std::string fingerprint() const override { return print; }
  mutable std::atomic<int> reads{0};
  std::string print = "photos";

 private:
  const bool one_size_;
};

Pipeline augment() {
  ResizingSpec small;
  small.height = 4;
  small.width = 5;
  return Pipeline({transform_family().make(small), transform_family().make(RandomFlipSpec{}),
                   transform_family().make(PreprocessInputSpec{PreprocessMode::kTorch})},
                  false);
}

/// All pixels of some epochs, and the number of reads after each.
struct Seen {
  std::vector<std::vector<float>> epochs;
  std::vector<int> reads;
};
Seen epochs(const std::shared_ptr<Photos>& photos, const CacheOptions& options, int count, int workers = 2,
            const Pipeline& pipeline = augment(), const Shape& made = {4, 5, 3}) {
  LoaderOptions o;
  o.batch_size = 4;
  o.seed = 3;
  o.workers = workers;
  o.prefetch = 1;
  photos->reads = 0;
  auto [source, rest] = cached(photos, pipeline, options, "train");
  Seen seen;
  Loader loader(source, rest, model_of(made, {4}), kNoLabels, o);
  for (int e = 0; e < count; ++e) {
    std::vector<float> all;
    for (Batch batch = loader.next(); batch.rows() > 0; batch = loader.next())
      all.insert(all.end(), batch.input(0), batch.input(0) + batch.rows() * made.elements());
    seen.epochs.push_back(std::move(all));
    seen.reads.push_back(photos->reads);
    loader.next_epoch();
  }
  return seen;
}

CacheOptions memory(std::optional<std::uint64_t> limit = std::nullopt) {
  CacheOptions options{.kind = CacheOptions::Kind::kMemory, .limit = {}, .folder = {}};
  if (limit) options.limit = config::ByteSize{*limit};
  return options;
}
CacheOptions disk(const std::string& folder) {
  return {.kind = CacheOptions::Kind::kDisk, .limit = {}, .folder = {folder}};
}

TEST(Cache, KeepsPixelsAndReadsOnce) {
  const auto photos = std::make_shared<Photos>(10);
  const Seen plain = epochs(photos, {}, 3);
  EXPECT_GE(plain.reads.back(), 30);
  EXPECT_NE(plain.epochs[0], plain.epochs[1]);  // the flips
  TempFolder folder;
  for (const CacheOptions& options : {memory(), disk(folder.file("cache"))})
    for (const int workers : {1, 3}) {
      fs::remove_all(folder.file("cache"));
      const Seen kept = epochs(photos, options, 3, workers);
      EXPECT_EQ(kept.epochs, plain.epochs);
      // The next epoch may begin before a sample of the last batch is cached, except with a ring of one batch.
      EXPECT_EQ(kept.reads.back(), 10);
    }
}

TEST(Cache, StoresBytesIfNoTransformMakesFloats) {
  const auto photos = std::make_shared<Photos>(10, true);
  const Pipeline flips({transform_family().make(RandomFlipSpec{})}, false);
  const Seen plain = epochs(photos, {}, 2, 1, flips, {7, 9, 3});
  const Seen kept = epochs(photos, memory(10 * 7 * 9 * 3), 2, 1, flips, {7, 9, 3});
  EXPECT_EQ(kept.epochs, plain.epochs);
  EXPECT_EQ(kept.reads.back(), 10);
}

TEST(Cache, ReportsInsufficientMemory) {
  const auto photos = std::make_shared<Photos>(10);
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { epochs(photos, memory(2000), 1); }),
            "data.loader.cache: 10 samples of 4x5x3 floats need 2.3 KiB, the limit is 2.0 KiB; write cache: {memory: "
            "1 MiB}, {disk: FOLDER} or none");
  // Images of different sizes: caches those that fit.
  const Pipeline crops({transform_family().make(RandomCropSpec{4, 5, 0})}, false);
  const Seen plain = epochs(photos, {}, 2, 1, crops), kept = epochs(photos, memory(1000), 2, 1, crops);
  EXPECT_EQ(kept.epochs, plain.epochs);
  EXPECT_LT(kept.reads.back(), plain.reads.back());
  EXPECT_GT(kept.reads.back(), 10);
}

TEST(Cache, ProcessesOfAMachineDivideItsMemory) {
  // A thousandth of the free memory; only one sample is written.
  const auto store_sample = [](int processes) {
    const auto samples = static_cast<std::int64_t>(machine::memory().available / 1000 / (1 << 16));
    const auto store = memory_store(samples, true, std::nullopt, processes);
    Array sample;
    sample.shape = {1 << 16};
    sample.type = DType::kU8;
    sample.u8.resize(1 << 16);
    store->store_sample(0, sample);
  };
  EXPECT_NO_THROW(store_sample(100));
  EXPECT_THAT(error_of(ErrorKind::kUsage, [&] { store_sample(1000); }),
              testing::HasSubstr(" (half of the free memory, for 1000 processes); write cache: {memory: "));
}

TEST(DiskCache, ServesTheNextRunOfTheSameData) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const CacheOptions options = disk(folder.file("cache"));
  const Seen first = epochs(photos, options, 1);
  EXPECT_TRUE(fs::exists(folder.file("cache/train.cache")));
  EXPECT_FALSE(fs::exists(folder.file("cache/train.cache.part")));
  const Seen second = epochs(photos, options, 1);
  EXPECT_EQ(second.reads.back(), 0);
  EXPECT_EQ(second.epochs, first.epochs);

  photos->print = "other photos";
  EXPECT_EQ(epochs(photos, options, 2).reads.back(), 10);
  EXPECT_EQ(epochs(photos, options, 1).reads.back(), 0);
  ResizingSpec other;
  other.height = 4;
  other.width = 5;
  other.antialias = true;
  const Pipeline changed({transform_family().make(other)}, false);
  EXPECT_EQ(epochs(photos, options, 2, 2, changed).reads.back(), 10);
}

TEST(DiskCache, RebuildsDamagedAndUnfinishedFiles) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const CacheOptions options = disk(folder.file("cache"));
  const std::string file = folder.file("cache/train.cache");
  const Seen first = epochs(photos, options, 1);
  fs::resize_file(file, fs::file_size(file) - 1);
  EXPECT_EQ(epochs(photos, options, 1).epochs, first.epochs);
  EXPECT_EQ(epochs(photos, options, 1).reads.back(), 0);
  write_plain(file, Bytes(10000, 0xFF));
  EXPECT_EQ(epochs(photos, options, 1).epochs, first.epochs);

  fs::remove(file);
  write_plain(file + ".part", Bytes(100, 1));  // of a killed run
  {
    auto [source, rest] = cached(photos, augment(), options, "train");
    Array out;
    source->read(0, 0, out);  // one of ten, then the run ends
    ImageView view;
    EXPECT_TRUE(source->view(0, 0, view));
    EXPECT_EQ(view.shape, (Shape{4, 5, 3}));
    EXPECT_FALSE(source->view(1, 0, view));
    EXPECT_TRUE(fs::exists(file + ".part"));
    // A run with other data at the same path neither waits nor writes.
    photos->print = "other photos";
    EXPECT_GE(epochs(photos, options, 2).reads.back(), 20);
    photos->print = "photos";
    EXPECT_TRUE(source->view(0, 0, view));
  }
  EXPECT_FALSE(fs::exists(file));
  EXPECT_FALSE(fs::exists(file + ".part"));
}

/// A source with a cache, as a process opens it; `from` generates the samples that are not cached.
struct CacheOfProcess {
  CacheOfProcess(const std::shared_ptr<Photos>& from, const CacheOptions& options)
      : source(cached(from, augment(), options, "train").first) {}
  bool has(std::int64_t index) const {
    ImageView view;
    return source->view(index, 0, view);
  }
  /// The cached or generated sample.
  std::vector<float> get(std::int64_t index) const {
    ImageView view;
    Array out;
    if (!source->view(index, 0, view)) source->read(index, 0, out), view = view_of(out);
    return {view.f32(), view.f32() + view.shape.elements()};
  }
  std::shared_ptr<const Source> source;
};

TEST(DiskCache, ProcessesOfAMachineFillItTogether) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const CacheOptions options = disk(folder.file("cache"));
  const std::string file = folder.file("cache/train.cache");
  std::vector<std::vector<float>> plain;
  for (std::int64_t i = 0; i < 10; ++i) plain.push_back(CacheOfProcess(photos, memory()).get(i));
  photos->reads = 0;
  {
    CacheOfProcess first(photos, options);
    std::optional<CacheOfProcess> second(std::in_place, photos, options);
    for (std::int64_t i : {1, 3, 5}) EXPECT_EQ(first.get(i), plain[static_cast<std::size_t>(i)]);
    for (std::int64_t i : {0, 1, 2}) EXPECT_EQ(second->get(i), plain[static_cast<std::size_t>(i)]);
    EXPECT_EQ(photos->reads, 5) << "1 came from the other";
    second.reset();  // its samples remain in the file
    EXPECT_TRUE(first.has(2));
    CacheOfProcess third(photos, options);
    EXPECT_TRUE(third.has(0));
    for (std::int64_t i : {9, 8, 7, 6}) EXPECT_EQ(third.get(i), plain[static_cast<std::size_t>(i)]);
    EXPECT_FALSE(fs::exists(file));
    EXPECT_EQ(first.get(4), plain[4]);
    EXPECT_TRUE(fs::exists(file));
    EXPECT_FALSE(fs::exists(file + ".part"));
    for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ(third.get(i), plain[static_cast<std::size_t>(i)]);
    EXPECT_EQ(photos->reads, 10);
  }
  CacheOfProcess later(photos, options);
  for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ(later.get(i), plain[static_cast<std::size_t>(i)]);
  EXPECT_EQ(photos->reads, 10);
}

TEST(DiskCache, LastProcessRemovesAnIncompleteFile) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const std::string part = folder.file("cache/train.cache.part");
  std::optional<CacheOfProcess> first(std::in_place, photos, disk(folder.file("cache"))),
      second(std::in_place, photos, disk(folder.file("cache")));
  second->get(4);
  first.reset();
  EXPECT_TRUE(second->has(4));
  EXPECT_TRUE(fs::exists(part));
  second.reset();
  EXPECT_FALSE(fs::exists(part));
}

/// Real processes that all make all samples, as fast as they can and in different orders.
TEST(DiskCache, RacingProcessesWriteOneCompleteFile) {
  TempFolder folder;
  const CacheOptions options = disk(folder.file("cache"));
  constexpr std::int64_t kPhotos = 400;
  const auto photos = std::make_shared<Photos>(kPhotos);
  std::vector<pid_t> children;
  for (int process = 0; process < 4; ++process) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    int wrong = 0;
    {
      const CacheOfProcess own(std::make_shared<Photos>(kPhotos), options), plain(photos, memory());
      for (std::int64_t i = 0; i < kPhotos; ++i) {
        const std::int64_t index = (i * std::array{1, 3, 7, 9}[static_cast<std::size_t>(process)]) % kPhotos;
        wrong += own.get(index) != plain.get(index) ? 1 : 0;
      }
      for (std::int64_t i = 0; i < kPhotos; ++i) wrong += own.get(i) != plain.get(i) ? 1 : 0;
    }
    _exit(wrong == 0 ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(fs::exists(folder.file("cache/train.cache")));
  EXPECT_FALSE(fs::exists(folder.file("cache/train.cache.part")));
  photos->reads = 0;
  const CacheOfProcess later(photos, options);
  for (std::int64_t i = 0; i < kPhotos; ++i) later.get(i);
  EXPECT_EQ(photos->reads, 0);
}

TEST(DiskCache, RebuildsTheFileOfAKilledProcess) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const CacheOptions options = disk(folder.file("cache"));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const CacheOfProcess own(photos, options);
    own.get(3);
    _exit(0);  // without the destructors
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(fs::exists(folder.file("cache/train.cache.part")));
  const CacheOfProcess next(photos, options);
  EXPECT_FALSE(next.has(3)) << "may be half of a sample";
  for (std::int64_t i = 0; i < 10; ++i) next.get(i);
  EXPECT_TRUE(fs::exists(folder.file("cache/train.cache")));
}

TEST(DiskCache, RereadsSamplesWhoseBytesChanged) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const CacheOptions options = disk(folder.file("cache"));
  const std::string file = folder.file("cache/train.cache");
  const Seen first = epochs(photos, options, 1);
  {
    std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekp(2 * 4096 + 3 * 240 + 17);  // in the fourth sample of 4x5x3 floats
    damaged.put('\x5a');
  }
  EXPECT_EQ(epochs(photos, options, 1).epochs, first.epochs);

  auto [source, rest] = cached(photos, augment(), options, "train");
  Array out;
  ImageView view;
  for (std::int64_t i = 0; i < 10; ++i) EXPECT_EQ(source->view(i, 0, view), i != 3) << i;
  photos->reads = 0;
  source->read(3, 0, out);
  EXPECT_EQ(photos->reads, 1);
  fs::resize_file(file, 4096);  // while it is mapped
  EXPECT_FALSE(source->view(9, 0, view));
  source->read(9, 0, out);
  EXPECT_EQ(out.shape, (Shape{4, 5, 3}));
}

TEST(DiskCache, RequiresOneSizeAndAWritableFolder) {
  const auto photos = std::make_shared<Photos>(10);
  TempFolder folder;
  const Pipeline flips({transform_family().make(RandomFlipSpec{})}, false);
  EXPECT_EQ(error_of(ErrorKind::kUsage, [&] { cached(photos, flips, disk(folder.file("cache")), "train"); }),
            "data.loader.cache: a disk cache needs images of one size; put Resizing or CenterCrop before the random "
            "transforms, or use cache: memory");
  write_plain(folder.file("file"), {1});
  EXPECT_EQ(error_of(ErrorKind::kWrite, [&] { cached(photos, augment(), disk(folder.file("file")), "train"); }),
            folder.file("file/train.cache.part") + ": cannot be opened: Not a directory");
}

TEST(DiskCache, CompletesTheFileDespiteUnreadableSamples) {
  const auto photos = std::make_shared<Photos>(3);
  photos->broken = 1;
  TempFolder folder;
  for (int run = 0; run < 2; ++run) {
    photos->reads = 0;
    auto [source, rest] = cached(photos, augment(), disk(folder.file("cache")), "train");
    ImageView view;
    Array out;
    for (std::int64_t i : {0, 1, 2}) {
      if (source->view(i, 0, view)) continue;
      if (i == 1)
        EXPECT_THROW(source->read(i, 0, out), SampleError);
      else
        source->read(i, 0, out);
    }
    EXPECT_EQ(photos->reads, run == 0 ? 3 : 1);
    EXPECT_TRUE(fs::exists(folder.file("cache/train.cache")));
  }
}

TEST(Cache, SkipsSourcesInMemory) {
  auto source = std::make_shared<VectorSource>(4, Shape{2, 3, 1});
  EXPECT_EQ(cached(source, {}, memory(), "train").first, source);
  EXPECT_NE(cached(source, Pipeline({transform_family().make(CenterCropSpec{1, 1})}, false), memory(), "train").first,
            source);
}

}  // namespace
}  // namespace dptrain::data
