#pragma once

// Raw samples in place of the model's inputs: nodes that prepare them (formats/preparation.h). Owned by whoever writes
// a file; one thread.

#include <map>
#include <string>

#include "formats/onnx/onnx_builder.h"
#include "formats/preparation.h"

namespace dptrain::formats::onnx {

class Preparing {
 public:
  explicit Preparing(Builder& to) : to_(to) {}

  /// What a step that the model calls `name` gives: adds inputs to the graph, of a table one for each column, and the
  /// nodes behind them. Throws Error{kUsage} where something else comes out than the model wants.
  Value input(const PreparedInput& prepared, const std::string& name, const Shape& wanted, Element type);

 private:
  Value table(const PreparedInput& prepared, Element type);
  /// [batch] of floats or words; a column that several inputs read is there once.
  Value column(const PreparedColumn& column);

  Builder& to_;
  std::map<std::string, Value> columns_;
};

/// The steps, of images or clips. Pure functions but for the nodes that they add.
Value prepare_images(Builder& to, Value x, const std::vector<ImageStep>& steps);
/// Of a column [batch]: [batch, floats], or with kInt32 [batch, 1]. What is refused becomes NaN, of ids a number that
/// no Embedding has.
Value prepare_column(Builder& to, const Value& cells, const PreparedColumn& column,
                     const std::vector<std::string>& missing, Element type);

}  // namespace dptrain::formats::onnx
