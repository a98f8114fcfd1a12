// safetensors: written files read back, and hostile headers are rejected.

#include "formats/safetensors/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/format.h"
#include "formats/checkpoint/weights.h"
#include "formats/checkpoint_sample.h"
#include "formats/contents.h"
#include "formats/exporter.h"
#include "formats/keras/keras_import.h"
#include "graph/example.h"

namespace dptrain::formats {
namespace {

using namespace sample;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<const FileBytes> file_of(std::string header, std::size_t data, std::uint64_t length = 0) {
  if (length == 0) length = header.size();
  std::vector<std::byte> bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::byte>(length >> (8 * i) & 0xFFU));
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  for (std::size_t i = 0; i < data; ++i) bytes.push_back(std::byte{0});
  return checkpoint_bytes("t.safetensors", bytes);
}

std::string refusal(const std::string& header, std::size_t data, std::uint64_t length = 0) {
  try {
    read_safetensors(file_of(header, data, length));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_THAT(error.what(), HasSubstr("t.safetensors"));
    return error.what();
  }
  return "taken";
}

std::string tensor(const std::string& members) { return R"({"a":{)" + members + "}}"; }

TEST(Safetensors, RejectsInvalidHeaders) {
  const std::string f32 = R"("dtype":"F32",)";
  EXPECT_EQ(refusal(tensor(f32 + R"("shape":[2],"data_offsets":[0,8])"), 8), "taken");
  EXPECT_EQ(refusal(tensor(f32 + R"("shape":[],"data_offsets":[0,4])"), 4), "taken");
  EXPECT_EQ(refusal(tensor(f32 + R"("shape":[0,7],"data_offsets":[0,0])"), 0), "taken");
  EXPECT_THAT(refusal("{}", 0, 1000), HasSubstr("its header of 1000 bytes does not end in it"));
  EXPECT_THAT(refusal("{}", 0, std::uint64_t{1} << 63U), HasSubstr("does not end in it"));
  EXPECT_THAT(refusal("{\"a\"", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(R"({"a":[[[[[[1]]]]]]})", 0), HasSubstr("nested too deeply"));
  EXPECT_THAT(refusal(R"({"a":1})", 0), HasSubstr("has no 'dtype'"));
  EXPECT_THAT(refusal(tensor(R"("dtype":"I64","shape":[1],"data_offsets":[0,8])"), 8), HasSubstr("of dtype \"I64\""));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[3],"data_offsets":[0,8])"), 8), HasSubstr("dtype need 12"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[1],"data_offsets":[0,8])"), 8), HasSubstr("its shape and dtype need 4"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[2],"data_offsets":[0,9])"), 8), HasSubstr("outside of the data"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[2],"data_offsets":[8,0])"), 8), HasSubstr("outside of the data"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[-2],"data_offsets":[0,8])"), 8), HasSubstr("not an unsigned integer"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[4294967296,4294967296],"data_offsets":[0,8])"), 8),
              HasSubstr("larger than the data"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[1],"data_offsets":[4,8])"), 8), HasSubstr("where byte 0 is next"));
  EXPECT_THAT(refusal(tensor(f32 + R"("shape":[1],"data_offsets":[0,4])"), 8), HasSubstr("it has 8 of data"));
  const std::string overlap = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                              R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  EXPECT_THAT(refusal(overlap, 12), HasSubstr("tensor 'b' begins at byte 4"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", 0), HasSubstr("is not text"));
}

TEST(Safetensors, NamesFilesOfPyTorch) {
  const auto opened = [](const std::string& format) {
    return FileContents::from_bytes(file_of(R"({"__metadata__":{"format":")" + format +
                                                R"("},"fc.kernel":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                                            4));
  };
  EXPECT_EQ(opened("other").layers().size(), 1U);
  try {
    opened("pt");
    FAIL() << "must throw";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCheckpoint);
    EXPECT_THAT(error.what(), HasSubstr("'t.safetensors' contains weights of PyTorch (format: pt), whose axes have"));
  }
}

TEST(Safetensors, ConvertsOtherFloats) {
  const std::string header = R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]},)"
                             R"("d":{"dtype":"F64","shape":[1],"data_offsets":[6,14]}})";
  const auto empty = file_of(header, 0);
  std::vector<std::byte> bytes = empty->read(0, empty->size());
  for (const unsigned byte : {0x00U, 0x3CU, 0x00U, 0xC0U,                               // 1, -2
                              0x20U, 0x40U,                                             // 2.5
                              0x00U, 0x00U, 0x00U, 0x00U, 0x00U, 0x00U, 0xE0U, 0xBFU})  // -0.5
    bytes.push_back(static_cast<std::byte>(byte));
  const Safetensors file = read_safetensors(checkpoint_bytes("t", bytes));
  ASSERT_EQ(file.tensors.size(), 3U);
  EXPECT_THAT(file.tensors[0].array.floats(), ElementsAre(1.0F, -2.0F));
  EXPECT_THAT(file.tensors[1].array.floats(), ElementsAre(2.5F));
  EXPECT_THAT(file.tensors[2].array.floats(), ElementsAre(-0.5F));
}

TEST(Safetensors, AWrittenModelReadsBack) {
  const test::Folder folder;
  const graph::Model model = branched();
  const std::string path = folder / "m.safetensors";
  ClassNames names;
  names.add("kind", {"a", "b"});
  names.add("size", {"c"});
  exporter_of(path).write(path, {.model = model, .class_names = names, .fitted_state = "{\"x\":1}"});
  const FileContents file = FileContents::open(path);
  EXPECT_TRUE(is_weights_only(path));
  EXPECT_EQ(file.class_names(), names);
  EXPECT_EQ(file.fitted_state(), "{\"x\":1}");
  graph::Model again = graph::make_model(graph::graph_of(config::to_yaml(import_model(path, {}).model)), 0);
  load_weights(path, again);
  for (std::size_t i = 0; i < model.weights.size(); ++i) EXPECT_EQ(again.weights[i].values, model.weights[i].values);
  // The data begins at a multiple of 64 bytes.
  EXPECT_EQ((8 + Cursor(file.file(), bytes_of(path)).u64()) % 64, 0U);
}

/// As the Python package writes: sorted by name, so a bias precedes its kernel, and without metadata.
TEST(Safetensors, FindsWeightsOfALayerByName) {
  const std::string header = R"({"out/bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("out/kernel":{"dtype":"F32","shape":[3,2],"data_offsets":[8,32]}})";
  const FileContents file = FileContents::from_bytes(file_of(header, 32));
  EXPECT_TRUE(file.model_config().empty());
  const std::vector<StoredLayer> layers = file.layers();
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].name, "out");
  EXPECT_THAT(layers[0].weight_names, ElementsAre("out/kernel", "out/bias"));
  graph::Model model = small_dense();
  EXPECT_EQ(load_weights(file, {}, model, Coverage::kAll).how, "by name");
}

TEST(Safetensors, PartsOfALayerAreNotLayers) {
  std::string header = "{";
  std::size_t at = 0;
  for (const char* name : {"rnn/backward_gru/gru_cell/bias", "rnn/forward_gru/gru_cell/kernel", "mha/value/kernel",
                           "mha/query/kernel", "net.0.weight"}) {
    header += fmt::format(R"({}"{}":{{"dtype":"F32","shape":[1],"data_offsets":[{},{}]}})", at == 0 ? "" : ",", name,
                          at, at + 4);
    at += 4;
  }
  const std::vector<StoredLayer> layers = FileContents::from_bytes(file_of(header + "}", at)).layers();
  ASSERT_EQ(layers.size(), 3U);
  EXPECT_THAT(layers[0].weight_names, ElementsAre("rnn/forward_gru/gru_cell/kernel", "rnn/backward_gru/gru_cell/bias"));
  EXPECT_THAT(layers[1].weight_names, ElementsAre("mha/query/kernel", "mha/value/kernel"));
  EXPECT_EQ(layers[2].name, "net.0");
}

}  // namespace
}  // namespace dptrain::formats
