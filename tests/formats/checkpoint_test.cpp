// Checkpoints read back as written; contents that do not fit are errors.

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "formats/checkpoint_sample.h"
#include "formats/exporter.h"

namespace dptrain::formats {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void expect_same_weights(const graph::Model& a, const graph::Model& b) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (std::size_t i = 0; i < a.weights.size(); ++i)
    EXPECT_TRUE(same_bits(a.weights[i].values, b.weights[i].values)) << i;
}

/// The same model with other weights.
graph::Model scrambled(graph::Model model) {
  for (graph::Weight& weight : model.weights) weight.values = sample::numbers(weight.values.size(), 12345);
  return model;
}

/// The message of the Error{kCheckpoint} that `call` must throw.
template <class Call>
std::string refusal_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Checkpoint, WeightsReadBackBitForBit) {
  const sample::Folder folder;
  graph::Model model = sample::branched();
  model.weights[0].values[0] = std::nanf("");
  model.weights[0].values[1] = -0.0F;
  model.weights[0].values[2] = std::numeric_limits<float>::denorm_min();
  model.weights[0].values[3] = -std::numeric_limits<float>::infinity();
  save_checkpoint(folder / "last.h5", model, {}, sample::state_of(model));
  graph::Model loaded = scrambled(sample::branched());
  load_weights(folder / "last.h5", loaded);
  expect_same_weights(model, loaded);
}

TEST(Checkpoint, StateReadsBackBitForBit) {
  const sample::Folder folder;
  const graph::Model model = sample::branched();
  const CheckpointState state = sample::state_of(model);
  const std::uint64_t bytes = save_checkpoint(folder / "last.h5", model, sample::compiled(), state);
  EXPECT_EQ(bytes, std::filesystem::file_size(folder / "last.h5"));

  const CheckpointState read = read_state(folder / "last.h5");
  EXPECT_EQ(read.resolved_config, state.resolved_config);
  EXPECT_EQ(read.trainer, state.trainer);
  EXPECT_EQ(read.class_names, state.class_names);
  ASSERT_EQ(read.arrays.size(), state.arrays.size());
  for (std::size_t i = 0; i < read.arrays.size(); ++i) {
    EXPECT_EQ(read.arrays[i].name, state.arrays[i].name);
    EXPECT_EQ(read.arrays[i].shape, state.arrays[i].shape);
    EXPECT_TRUE(same_bits(read.arrays[i].values, state.arrays[i].values)) << read.arrays[i].name;
  }
}

TEST(Checkpoint, AcceptsAnEmptyState) {
  const sample::Folder folder;
  save_checkpoint(folder / "last.h5", sample::tiny_cnn(), {}, {});
  const CheckpointState read = read_state(folder / "last.h5");
  EXPECT_TRUE(read.resolved_config.empty() && read.trainer.empty() && read.arrays.empty() && read.class_names.empty());
}

TEST(Checkpoint, TheSameContentsGiveTheSameBytes) {
  const sample::Folder folder;
  const graph::Model model = sample::branched();
  save_checkpoint(folder / "a.h5", model, sample::compiled(), sample::state_of(model));
  save_checkpoint(folder / "b.h5", model, sample::compiled(), sample::state_of(model));
  EXPECT_EQ(sample::bytes_of(folder / "a.h5"), sample::bytes_of(folder / "b.h5"));
}

TEST(Checkpoint, AcceptsLargeTextsAndManyNames) {
  const sample::Folder folder;
  CheckpointState state;
  state.resolved_config = std::string(300'000, 'x') + "\n";
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("class number " + std::to_string(i) + " of a long list");
  state.class_names.add("kind", names);
  state.class_names.add("size", {"large", "m\xC3\xA4\xC3\x9Fig"});
  state.arrays.push_back({"empty", Shape{0, 3}, {}});
  save_checkpoint(folder / "last.h5", sample::tiny_cnn(), {}, state);
  const CheckpointState read = read_state(folder / "last.h5");
  EXPECT_EQ(read.resolved_config, state.resolved_config);
  EXPECT_EQ(read.class_names, state.class_names);
  ASSERT_EQ(read.arrays.size(), 1U);
  EXPECT_EQ(read.arrays[0].shape, (Shape{0, 3}));
}

TEST(Checkpoint, AnExportedModelHasWeightsAndClassNamesButNoState) {
  const sample::Folder folder;
  const graph::Model model = sample::tiny_cnn();
  exporter_of("model.h5")
      .write(folder / "model.h5",
             {.model = model, .compiled = sample::compiled(), .class_names = {"ankle boot", "bag"}});
  graph::Model loaded = scrambled(model);
  load_weights(folder / "model.h5", loaded);
  expect_same_weights(model, loaded);
  EXPECT_EQ(read_class_names(folder / "model.h5"), ClassNames({"ankle boot", "bag"}));
  EXPECT_TRUE(is_checkpoint(folder / "model.h5"));
  EXPECT_THAT(refusal_of([&] { read_state(folder / "model.h5"); }),
              HasSubstr("start from its weights with --init-from"));
}

TEST(Checkpoint, NamesAWeightOfAnotherShape) {
  const sample::Folder folder;
  save_checkpoint(folder / "last.h5", sample::tiny_cnn(5), {}, {});
  graph::Model model = sample::tiny_cnn(7);
  const graph::Model before = model;
  const std::string path = folder / "last.h5";
  EXPECT_EQ(refusal_of([&] { load_weights(path, model); }),
            "'" + path +
                "' is a checkpoint of another model: \n"
                "  layer 'predictions' kernel is 64x5 in the file, 64x7 in the model\n"
                "  layer 'predictions' bias is 5 in the file, 7 in the model");
  expect_same_weights(model, before);
}

TEST(Checkpoint, ListsAllDifferencesOfAnotherModel) {
  const sample::Folder folder;
  save_checkpoint(folder / "last.h5", sample::tiny_cnn(), {}, {});
  graph::Model model = sample::branched();
  const std::string message = refusal_of([&] { load_weights(folder / "last.h5", model); });
  EXPECT_THAT(message, HasSubstr("is a checkpoint of another model"));
  EXPECT_THAT(message, HasSubstr("layer 'left1_bn' is not in the file"));
  EXPECT_THAT(message, HasSubstr("layer 'conv1' of the file is not in the model"));
}

TEST(Checkpoint, NamesAnotherNumberOfWeights) {
  const sample::Folder folder;
  graph::Model model = sample::tiny_cnn();
  save_checkpoint(folder / "last.h5", model, {}, {});
  model.graph.layers[1].weights.pop_back();
  EXPECT_THAT(refusal_of([&] { load_weights(folder / "last.h5", model); }),
              HasSubstr("layer 'conv1' has 2 weights in the file, 1 in the model"));
}

TEST(Checkpoint, RejectsFilesThatAreNotCheckpoints) {
  const sample::Folder folder;
  const auto put = [&](const std::string& file, const std::string& text) {
    sample::put_bytes(folder / file, std::as_bytes(std::span(text)));
  };
  put("empty.h5", "");
  put("text.h5", "experiment: {name: a text that was given for a checkpoint by mistake}\n");
  put("short.h5", std::string("\x89HDF\r\n\x1a\n", 8));
  EXPECT_THAT(refusal_of([&] { read_state(folder / "empty.h5"); }), HasSubstr("is empty, expected an HDF5 file"));
  EXPECT_THAT(refusal_of([&] { read_state(folder / "text.h5"); }), HasSubstr("is not an HDF5 file"));
  EXPECT_THAT(refusal_of([&] { read_state(folder / "short.h5"); }), HasSubstr("is damaged"));
  EXPECT_THAT(refusal_of([&] { read_state(folder / "none.h5"); }), HasSubstr("none.h5': No such file or directory"));
  EXPECT_THAT(refusal_of([&] { read_state(folder.path().string()); }),
              HasSubstr("it is a folder; name the file in it"));
  for (const char* file : {"empty.h5", "text.h5", "short.h5", "none.h5", "."})
    EXPECT_FALSE(is_checkpoint(folder / file)) << file;
}

TEST(Checkpoint, ShowsItsContents) {
  const sample::Folder folder;
  const graph::Model model = sample::tiny_cnn();
  save_checkpoint(folder / "last.h5", model, sample::compiled(), sample::state_of(model));
  const std::string text = describe_file(folder / "last.h5");
  for (const char* expected :
       {"dptrain checkpoint, format 1", "checksum good", "model tiny_cnn (Functional)", "Conv2D",
        "kernel 3x3x3x4, bias 4", "5 layers, 437 parameters", "classes (5): T-shirt",
        "optimizer: Adam, learning rate 0.002", "momentum, velocity, scalar (9 arrays, 875 numbers)", "epoch: 5",
        "step: 2345", "callbacks.ModelCheckpoint.best: 0.8812"})
    EXPECT_THAT(text, HasSubstr(expected));
  EXPECT_THAT(text, Not(HasSubstr("sums.loss")));
}

TEST(Checkpoint, DiffOfEqualFilesIsEqual) {
  const sample::Folder folder;
  const graph::Model model = sample::tiny_cnn();
  save_checkpoint(folder / "a.h5", model, sample::compiled(), sample::state_of(model));
  const FileDifference same = compare_files(folder / "a.h5", folder / "a.h5", 0);
  EXPECT_TRUE(same.equal);
  EXPECT_EQ(same.report, "13 arrays equal\n");
}

TEST(Checkpoint, DiffListsArraysAndLines) {
  const sample::Folder folder;
  graph::Model model = sample::tiny_cnn();
  CheckpointState state = sample::state_of(model);
  save_checkpoint(folder / "a.h5", model, {}, state);
  for (float& value : model.weights[1].values) value = 0.5F;
  model.weights[1].values[2] = 0.75F;
  save_checkpoint(folder / "b.h5", model, {}, state);
  model.weights[1].values[2] = 0.5F;
  state.arrays.pop_back();
  state.resolved_config = "experiment: {name: other}\nmodel: {layers: []}\n";
  save_checkpoint(folder / "c.h5", model, {}, state);

  const FileDifference d = compare_files(folder / "b.h5", folder / "c.h5", 0);
  EXPECT_FALSE(d.equal);
  // One of four values of 0.5 differs by 0.25: relative 0.25 / sqrt(4 * 0.25).
  EXPECT_THAT(d.report, HasSubstr("conv1/bias: max |A - B| 0.25, relative 0.25\n"));
  EXPECT_THAT(d.report, HasSubstr("state scalar: only in A\n"));
  EXPECT_THAT(d.report, HasSubstr("  - experiment: {name: tiny}\n"));
  EXPECT_THAT(d.report, HasSubstr("  + experiment: {name: other}\n"));
  EXPECT_THAT(d.report, HasSubstr("2 arrays differ, 11 equal\n"));
  EXPECT_FALSE(compare_files(folder / "a.h5", folder / "b.h5", 0.01).equal);
  EXPECT_TRUE(compare_files(folder / "a.h5", folder / "b.h5", 10).equal);
}

TEST(Checkpoint, EscapesControlCharactersInNames) {
  const sample::Folder folder;
  const graph::Model model = sample::tiny_cnn();
  CheckpointState state = sample::state_of(model);
  state.arrays.back().name = "a\x1b[2Jb\nequal";
  state.class_names = {"T-shirt", "\xC2\x9Bmm", "Bag"};
  save_checkpoint(folder / "a.h5", model, {}, state);
  state.arrays.back().values = {4};
  state.resolved_config = "name: \x1b]0;title\x07\n";
  save_checkpoint(folder / "b.h5", model, {}, state);
  state.arrays.pop_back();
  save_checkpoint(folder / "c.h5", model, {}, state);
  EXPECT_THAT(compare_files(folder / "a.h5", folder / "b.h5", 0).report,
              AllOf(HasSubstr("state a\\x1b[2Jb\\nequal: max |A - B|"), HasSubstr("  + name: \\x1b]0;title\\x07\n")));
  EXPECT_THAT(compare_files(folder / "a.h5", folder / "c.h5", 0).report,
              HasSubstr("state a\\x1b[2Jb\\nequal: only in A\n"));
  EXPECT_THAT(describe_file(folder / "a.h5"),
              AllOf(HasSubstr("T-shirt, \\u009bmm"), HasSubstr(", a\\x1b[2Jb\\nequal (")));
}

TEST(Checkpoint, DiffTreatsNaNAsADifference) {
  const sample::Folder folder;
  graph::Model model = sample::tiny_cnn();
  save_checkpoint(folder / "a.h5", model, {}, {});
  model.weights[0].values[0] = std::nanf("");
  save_checkpoint(folder / "b.h5", model, {}, {});
  EXPECT_FALSE(compare_files(folder / "a.h5", folder / "b.h5", 1e30).equal);
  EXPECT_TRUE(compare_files(folder / "b.h5", folder / "b.h5", 0).equal);
}

}  // namespace
}  // namespace dptrain::formats
