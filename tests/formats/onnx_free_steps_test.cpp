// Files with a free number of steps: which extents are free, and errors. scripts/interop/onnx_steps.py compares their
// results at several lengths.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "formats/exporter.h"
#include "formats/onnx_reader.h"
#include "graph/example.h"
#include "support/folder.h"

namespace dptrain::formats::onnx {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTwelveIds = "layers:\n  - Input: {name: in, shape: [12], dtype: int32}\n";
constexpr const char* kVectors = "  - Embedding: {input_dim: 9, output_dim: 8, mask_zero: true, name: e}\n";

OnnxFileInfo freed(const std::string& yaml) {
  const test::Folder folder;
  const graph::Model model = graph::make_model(graph::graph_of(yaml), 1);
  exporter_of("a.onnx").write(folder / "a.onnx", {.model = model, .free_steps = true});
  return read_file(folder / "a.onnx");
}

std::string refusal_of_steps(const std::string& yaml) {
  try {
    freed(yaml);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "taken";
}

TEST(OnnxFreeSteps, InputsAndOutputsHaveFreeSteps) {
  const OnnxFileInfo read =
      freed(std::string(kTwelveIds) + kVectors + "  - LSTM: {units: 3, return_sequences: true, name: out}\n");
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs, ElementsAre("in [batch,steps] 6"));
  EXPECT_THAT(read.outputs, ElementsAre("out [batch,steps,3] 1"));
}

TEST(OnnxFreeSteps, PooledStepsHaveNoName) {
  const OnnxFileInfo read =
      freed("layers:\n  - Input: {name: in, shape: [12, 4]}\n  - MaxPooling1D: {pool_size: 2, name: out}\n");
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.outputs, ElementsAre("out [batch,0,4] 1"));
}

TEST(OnnxFreeSteps, LooksUpPositionsForTheGivenSteps) {
  const OnnxFileInfo read = freed(std::string(kTwelveIds) + kVectors +
                                  "  - PositionEmbedding: {sequence_length: 12, name: p}\n"
                                  "  - Add: {inputs: [e, p]}\n"
                                  "  - MultiHeadAttention: {num_heads: 2, key_dim: 4, inputs: [add, add]}\n"
                                  "  - GlobalMaxPooling1D: {name: out}\n");
  EXPECT_EQ(read.checker_error, "");
  EXPECT_THAT(read.inputs, ElementsAre("in [batch,steps] 6"));
}

TEST(OnnxFreeSteps, NamesLayersThatDependOnTheLength) {
  EXPECT_THAT(refusal_of_steps(std::string(kTwelveIds) + kVectors + "  - Flatten\n  - Dense: {units: 2, name: out}\n"),
              HasSubstr("the weights of 'out' depend on the length"));
  EXPECT_THAT(refusal_of_steps("layers:\n  - Input: {shape: [12, 4]}\n"
                               "  - Conv1D: {filters: 2, kernel_size: 3, padding: same, strides: 2, name: c}\n"),
              HasSubstr("the node 'c/Conv' depends on the length"));
}

TEST(OnnxFreeSteps, RequiresASequence) {
  EXPECT_THAT(refusal_of_steps("layers:\n  - Input: {shape: [4]}\n  - Dense: 2\n"),
              HasSubstr("no input is a sequence"));
}

TEST(OnnxFreeSteps, RejectsSequencesOfTwoLengths) {
  EXPECT_THAT(
      refusal_of_steps("layers:\n  - Input: {name: a, shape: [12, 4]}\n  - GlobalMaxPooling1D: {inputs: a, name: c}\n"
                       "  - Input: {name: b, shape: [9, 4]}\n  - GlobalMaxPooling1D: {inputs: b, name: d}\n"
                       "  - Add: {inputs: [c, d]}\n"),
      HasSubstr("sequences of 12 and of 9 steps"));
}

}  // namespace
}  // namespace dptrain::formats::onnx
