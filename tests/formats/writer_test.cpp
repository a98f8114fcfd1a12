// The background writer: order, last error, draining.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include "core/files.h"
#include "formats/checkpoint/writer.h"
#include "formats/checkpoint_sample.h"
#include "formats/hdf5/hdf5_writer.h"

namespace dptrain::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WriterTest : public ::testing::Test {
 protected:
  WriteJob job(std::vector<std::string> files, float mark = 0) const {
    graph::Model model = sample::tiny_cnn();
    model.weights[0].values[0] = mark;
    WriteJob job{.model = std::make_shared<const graph::Model>(model),
                 .state = std::make_shared<const CheckpointState>(sample::state_of(model)),
                 .compiled = {},
                 .paths = {}};
    for (const std::string& file : files) job.paths.push_back(folder_ / file);
    return job;
  }
  float mark_in(const std::string& file) const {
    graph::Model model = sample::tiny_cnn();
    load_weights(folder_ / file, model);
    return model.weights[0].values[0];
  }
  /// Records the writer's notifications in order. Read them only after drain().
  std::function<void(const WrittenFile&)> note() {
    return [this](const WrittenFile& saved) { saved_.push_back(saved); };
  }

  sample::Folder folder_;
  std::vector<WrittenFile> saved_;
};

TEST_F(WriterTest, WritesInTheOrderOfSubmission) {
  CheckpointWriter writer(note());
  for (int i = 1; i <= 5; ++i)
    writer.submit(job({"last.h5", "epoch-" + std::to_string(i) + ".h5"}, static_cast<float>(i)));
  writer.drain();
  ASSERT_EQ(saved_.size(), 10U);
  for (std::size_t i = 0; i < saved_.size(); ++i) {
    EXPECT_EQ(saved_[i].path, folder_ / (i % 2 == 0 ? "last.h5" : "epoch-" + std::to_string(i / 2 + 1) + ".h5"));
    EXPECT_EQ(saved_[i].bytes, std::filesystem::file_size(saved_[i].path));
    EXPECT_GT(saved_[i].seconds, 0);
    EXPECT_FALSE(saved_[i].error.has_value());
  }
  EXPECT_EQ(mark_in("last.h5"), 5);
  EXPECT_EQ(mark_in("epoch-3.h5"), 3);
}

TEST_F(WriterTest, ExportsWithoutThePrivateState) {
  CheckpointWriter writer(note());
  WriteJob model = job({"model.h5"});
  model.private_state = false;
  writer.submit(std::move(model));
  writer.drain();
  EXPECT_THROW(read_state(folder_ / "model.h5"), Error);
  EXPECT_EQ(read_class_names(folder_ / "model.h5").first().size(), 5U);
}

TEST_F(WriterTest, KeepsTheLastErrorAndContinues) {
  CheckpointWriter writer(note());
  EXPECT_FALSE(writer.last_error().has_value());
  writer.submit(job({"missing/last.h5"}));
  writer.drain();
  ASSERT_TRUE(writer.last_error().has_value());
  EXPECT_EQ(writer.last_error()->kind(), ErrorKind::kWrite);
  EXPECT_THAT(writer.last_error()->what(), HasSubstr("missing/last.h5"));
  ASSERT_EQ(saved_.size(), 1U);
  EXPECT_TRUE(saved_[0].error.has_value());

  writer.submit(job({"last.h5"}));
  writer.drain();
  EXPECT_FALSE(writer.last_error().has_value());
  EXPECT_THAT(folder_.files(), ElementsAre("last.h5"));
}

TEST_F(WriterTest, TheDestructorCompletesQueuedJobs) {
  {
    CheckpointWriter writer(nullptr);
    writer.submit(job({"a.h5"}, 1));
    writer.submit(job({"b.h5"}, 2));
  }
  EXPECT_EQ(mark_in("a.h5"), 1);
  EXPECT_EQ(mark_in("b.h5"), 2);
}

TEST_F(WriterTest, DoesNotLockTheLibraryWhileWritingBytes) {
  Hdf5Writer file(1000);
  file.group("g");
  EXPECT_FALSE(std::async([] { return hdf5_mutex().try_lock(); }).get());
  EXPECT_GT(file.bytes().size(), 100U);
  EXPECT_TRUE(std::async([] {
                const std::unique_lock lock(hdf5_mutex(), std::try_to_lock);
                return lock.owns_lock();
              }).get());
}

TEST_F(WriterTest, TwoWritersShareTheLibrary) {
  {
    CheckpointWriter one(nullptr), other(nullptr);
    for (int i = 0; i < 10; ++i) {
      one.submit(job({"one.h5"}, static_cast<float>(i)));
      other.submit(job({"other.h5"}, static_cast<float>(-i)));
    }
  }
  EXPECT_EQ(mark_in("one.h5"), 9);
  EXPECT_EQ(mark_in("other.h5"), -9);
}

TEST_F(WriterTest, QueuesOneJobAndBlocksTheNextCaller) {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  CheckpointWriter writer([&](const WrittenFile&) {  // blocks the writer's thread inside the first job
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return open; });
  });
  writer.submit(job({"a.h5"}));
  while (!std::filesystem::exists(folder_ / "a.h5"))
    std::this_thread::yield();  // it is being written: the queue is empty
  writer.submit(job({"b.h5"}));
  std::atomic<bool> through = false;
  std::thread third([&] {
    writer.submit(job({"c.h5"}));
    through = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(through);
  {
    const std::lock_guard lock(mutex);
    open = true;
  }
  changed.notify_all();
  third.join();
  writer.drain();
  EXPECT_THAT(folder_.files(), ElementsAre("a.h5", "b.h5", "c.h5"));
}

}  // namespace
}  // namespace dptrain::formats
