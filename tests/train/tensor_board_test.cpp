#include "train/callbacks/tensor_board.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include "core/crc32.h"
#include "train/fake_control.h"
#include "train/tensorboard/board.h"
#include "train/tensorboard/event_file.h"

namespace dptrain::train {
namespace {
namespace fs = std::filesystem;
using tensorboard::Fields;

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {(std::istreambuf_iterator<char>(file)), {}};
}

/// tag -> step -> value of the scalars in a folder's files. Fails if a point occurs twice.
std::map<std::string, std::map<std::int64_t, double>> scalars(const std::string& folder) {
  std::map<std::string, std::map<std::int64_t, double>> all;
  for (const std::string& path : tensorboard::event_files(folder)) {
    const std::string file = bytes_of(path);
    std::size_t size = 0;
    for (const std::string_view record : tensorboard::records(file)) {
      size += record.size() + 16;
      const auto head = tensorboard::head_of(record);
      for (Fields event(record); event.next();)
        if (event.number() == 5)
          for (Fields summary(event.bytes()); summary.next();)
            for (Fields value(summary.bytes()); value.next();)
              if (value.number() == 2) {
                float number = 0;
                const auto bits = static_cast<std::uint32_t>(value.integer());
                std::memcpy(&number, &bits, sizeof number);
                EXPECT_TRUE(all[head.tag].emplace(head.step, number).second) << head.tag << " " << head.step;
              }
    }
    EXPECT_EQ(size, file.size()) << path << " has bytes that are no record";
  }
  return all;
}

/// Number of events in a folder with this tag.
int count(const std::string& folder, const std::string& tag) {
  int n = 0;
  for (const std::string& path : tensorboard::event_files(folder)) {
    const std::string file = bytes_of(path);
    for (const std::string_view record : tensorboard::records(file)) n += tensorboard::head_of(record).tag == tag;
  }
  return n;
}

StepReport step_report(std::int64_t step, double loss) {
  StepReport report{.step = step, .epoch = (step - 1) / 10, .batch = (step - 1) % 10 + 1, .loss = loss};
  report.logs.set("loss", loss);
  report.learning_rate = 0.25;
  return report;
}

void run_epoch(Callback& callback, FakeControl& control, std::int64_t epoch) {
  callback.epoch_begin(control, epoch);
  for (std::int64_t step = 10 * epoch + 1; step <= 10 * epoch + 10; ++step)
    callback.step_end(control, step_report(step, 1.0 / static_cast<double>(step)));
  run(callback, control, "val_loss", {0.5 + static_cast<double>(epoch)}, epoch);
}

// RFC 3720, B.4, and the standard check value of "123456789".
TEST(Crc32c, KnownValues) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

// The bytes that TensorFlow's TFRecordWriter writes for b"abc".
TEST(EventFile, ARecordEqualsTensorFlows) {
  const std::string expected(
      "\x03\0\0\0\0\0\0\0\xb0\x99I\x0e"
      "abcnW\xf1!",
      19);
  const std::string record = tensorboard::framed("abc");
  ASSERT_EQ(record.size(), expected.size());
  EXPECT_EQ(record, expected);
}

TEST(EventFile, ReadsUpToATornOrDamagedRecord) {
  const std::string whole = tensorboard::framed("first") + tensorboard::framed("") + tensorboard::framed("third");
  EXPECT_EQ(tensorboard::records(whole), (std::vector<std::string_view>{"first", "", "third"}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::size_t expected = size < 21 ? 0 : size < 37 ? 1 : 2;
    EXPECT_EQ(tensorboard::records(whole.substr(0, size)).size(), expected) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_LT(tensorboard::records(damaged).size(), 3U) << at;
  }
}

TEST(Wire, FieldsReadBack) {
  using tensorboard::Message;
  const std::vector<double> reals{1.5, -2};
  const std::string bytes =
      Message().integer(1, 300).integer(2, -1).real(3, 0.5).text(16, "word").reals(5, reals).bytes();
  EXPECT_EQ(bytes.substr(0, 3), std::string("\x08\xac\x02"));  // the example of Protocol Buffers' page on encoding
  Fields fields(bytes);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.integer(), 300U);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(static_cast<std::int64_t>(fields.integer()), -1);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.integer(), 0x3FE0000000000000U);
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.number(), 16);
  EXPECT_EQ(fields.bytes(), "word");
  ASSERT_TRUE(fields.next());
  EXPECT_EQ(fields.bytes().size(), 16U);
  EXPECT_FALSE(fields.next());
  EXPECT_FALSE(Fields("\x0a\x05"
                      "abc")
                   .next());  // length five, only three bytes
}

TEST(Summary, AHistogramCountsAllFiniteValues) {
  const std::vector<float> values{0, 1, 1, 30, std::nanf("")};
  const std::string event = tensorboard::histogram_event("kernel/histogram", 7, values);
  EXPECT_EQ(tensorboard::head_of(event).step, 7);
  std::vector<double> numbers(6), limits, counts;
  for (Fields e(event); e.next();)
    if (e.number() == 5)
      for (Fields s(e.bytes()); s.next();)
        for (Fields v(s.bytes()); v.next();)
          if (v.number() == 5)
            for (Fields h(v.bytes()); h.next();) {
              const auto bits = h.integer();
              if (h.number() <= 5) std::memcpy(&numbers[static_cast<std::size_t>(h.number())], &bits, 8);
              if (h.number() < 6) continue;
              std::vector<double>& list = h.number() == 6 ? limits : counts;
              list.resize(h.bytes().size() / 8);
              std::memcpy(list.data(), h.bytes().data(), h.bytes().size());
            }
  EXPECT_EQ(numbers, (std::vector<double>{0, 0, 30, 4, 32, 902}));
  ASSERT_EQ(limits.size(), 30U);
  ASSERT_EQ(counts.size(), 30U);
  EXPECT_DOUBLE_EQ(limits.front(), 1);
  EXPECT_DOUBLE_EQ(limits.back(), 30);
  EXPECT_EQ(counts.front(), 1);
  EXPECT_EQ(counts[1], 2);
  EXPECT_EQ(counts.back(), 1);
}

TEST(TensorBoard, WritesKerasTags) {
  FakeControl control;
  const auto callback = make_callback(TensorBoardSpec{.update_freq = {5}});
  callback->train_begin(control, false);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) run_epoch(*callback, control, epoch);
  callback->train_end(control);
  const std::string logs = control.run_directory() + "/logs";
  const auto train = scalars(logs + "/train"), validation = scalars(logs + "/validation");
  EXPECT_EQ(train.at("epoch_loss"), (std::map<std::int64_t, double>{{0, 1}, {1, 1}}));
  EXPECT_EQ(validation.at("epoch_loss"), (std::map<std::int64_t, double>{{0, 0.5}, {1, 1.5}}));
  ASSERT_EQ(train.at("batch_loss").size(), 4U);
  EXPECT_EQ(train.at("batch_loss").at(10), static_cast<double>(0.1F));
  EXPECT_EQ(train.at("batch_learning_rate").at(20), 0.25);
  EXPECT_GT(train.at("batch_samples_per_second").at(15), 0);
  EXPECT_FALSE(train.contains("batch_steps_per_second"));
  EXPECT_EQ(train.at("epoch_learning_rate").size(), 2U);
  EXPECT_EQ(count(logs, "_hparams_/session_start_info"), 1);
}

TEST(TensorBoard, HistogramsOfWeightsAndGradientsAreOnRequest) {
  FakeControl control;
  control.model.graph.layers[0].name = "layer";
  control.model.weights[0].def.name = "kernel";
  const auto callback = make_callback(TensorBoardSpec{.histogram_freq = 2, .write_grads = true});
  callback->train_begin(control, false);
  for (std::int64_t epoch = 0; epoch < 4; ++epoch) run_epoch(*callback, control, epoch);
  const std::string train = control.run_directory() + "/logs/train";
  EXPECT_EQ(count(train, "layer/kernel/histogram"), 2);
  EXPECT_EQ(count(train, "layer/kernel_grad/histogram"), 2);
  EXPECT_EQ(count(train, "batch_loss"), 0);
  EXPECT_EQ(count(train, "samples"), 0);
}

TEST(TensorBoard, WritesHyperParametersThatDistinguishRuns) {
  FakeControl control;
  control.config = config::Node::map();
  config::Node adam = config::Node::map();
  config::Node& train = control.config.set("train", config::Node::map());
  adam.set("learning_rate", config::Node::scalar("1e-3"));
  train.set("optimizer", config::Node::map()).set("Adam", adam);
  train.set("batch_size", config::Node::integer(64));
  train.set("log_every", config::Node::scalar("50 steps"));
  control.config.set("seed", config::Node::integer(7));
  const auto callback = make_callback(TensorBoardSpec{});
  callback->train_begin(control, false);
  callback->train_end(control);
  std::string bytes;
  for (const std::string& path : tensorboard::event_files(control.run_directory() + "/logs")) bytes += bytes_of(path);
  for (const char* const name : {"seed", "optimizer", "Adam", "learning_rate", "batch_size"})
    EXPECT_NE(bytes.find(name), std::string::npos) << name;
  for (const char* const name : {"log_every", "Adam.learning_rate"})
    EXPECT_EQ(bytes.find(name), std::string::npos) << name;
}

TEST(TensorBoard, AResumedRunHasEveryPointOnce) {
  FakeControl control;
  const TensorBoardSpec spec{.update_freq = {1}};
  const auto before = make_callback(spec), after = make_callback(spec);
  before->train_begin(control, false);
  run_epoch(*before, control, 0);
  const auto state = nlohmann::json::parse(before->save().dump());
  for (std::int64_t step = 11; step <= 16; ++step) before->step_end(control, step_report(step, 9));
  ASSERT_TRUE(before->flush());  // then the run is killed
  {
    std::ofstream torn(tensorboard::event_files(control.run_directory() + "/logs/train").front(), std::ios::app);
    torn << "half a rec";
  }
  after->restore(state);
  after->train_begin(control, true);
  run_epoch(*after, control, 1);
  const auto train = scalars(control.run_directory() + "/logs/train");
  EXPECT_EQ(train.at("epoch_loss").size(), 2U);
  ASSERT_EQ(train.at("batch_loss").size(), 20U);
  EXPECT_EQ(train.at("batch_loss").at(11), static_cast<double>(static_cast<float>(1.0 / 11)));
  EXPECT_EQ(tensorboard::event_files(control.run_directory() + "/logs/train").size(), 2U);
  EXPECT_EQ(count(control.run_directory() + "/logs", "_hparams_/session_start_info"), 1);
}

TEST(TensorBoard, SamplesAreAnImageOfEachEpoch) {
  FakeControl control;
  const auto callback = make_callback(TensorBoardSpec{.write_samples = 3});
  callback->train_begin(control, false);
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) run_epoch(*callback, control, epoch);
  EXPECT_EQ(count(control.run_directory() + "/logs/train", "samples"), 2);
}

TEST(TensorBoard, RollbackRemovesLaterPoints) {
  FakeControl control;
  const auto callback = make_callback(TensorBoardSpec{.update_freq = {1}});
  callback->train_begin(control, false);
  run_epoch(*callback, control, 0);
  for (std::int64_t step = 11; step <= 14; ++step) callback->step_end(control, step_report(step, 9));
  callback->restore(callback->save());
  run_epoch(*callback, control, 1);
  EXPECT_EQ(scalars(control.run_directory() + "/logs/train").at("batch_loss").size(), 20U);
}

TEST(TensorBoard, AFreshRunReplacesOldFiles) {
  FakeControl control;
  for (int i = 0; i < 2; ++i) {
    const auto callback = make_callback(TensorBoardSpec{});
    callback->train_begin(control, false);
    run_epoch(*callback, control, 0);
  }
  EXPECT_EQ(scalars(control.run_directory() + "/logs/train").at("epoch_loss").size(), 1U);
}

TEST(TensorBoard, ValidationsOfStepsCountSteps) {
  FakeControl control;
  const auto callback = make_callback(TensorBoardSpec{});
  callback->train_begin(control, false);
  run_validations(*callback, control, "val_loss", {3, 2});
  callback->train_end(control);
  EXPECT_EQ(scalars(control.run_directory() + "/logs/validation").at("evaluation_loss_vs_iterations"),
            (std::map<std::int64_t, double>{{5, 3}, {10, 2}}));
}

TEST(TensorBoard, ContinuesIfFilesCannotBeWritten) {
  FakeControl control;
  std::ofstream(control.run_directory() + "/logs") << "a file where the folder should be";
  const auto callback = make_callback(TensorBoardSpec{});
  callback->train_begin(control, false);
  run_epoch(*callback, control, 0);
  EXPECT_FALSE(callback->flush());
  fs::remove(control.run_directory() + "/logs");
  EXPECT_TRUE(callback->flush());
  EXPECT_EQ(scalars(control.run_directory() + "/logs/train").at("epoch_loss").size(), 1U);
}

TEST(TensorBoard, WritesInOneProcess) {
  FakeControl control;
  control.silent = true;
  const auto callback = make_callback(TensorBoardSpec{.update_freq = {1}});
  callback->train_begin(control, false);
  run_epoch(*callback, control, 0);
  EXPECT_TRUE(callback->flush());
  EXPECT_FALSE(fs::exists(control.run_directory() + "/logs"));
}

}  // namespace
}  // namespace dptrain::train
