#pragma once

// Adds the nodes that compute the model's inputs from raw samples (formats/preparation.h). The writer of a file owns
// it; one thread.

#include <map>
#include <string>

#include "formats/onnx/onnx_builder.h"
#include "formats/preparation.h"

namespace dptrain::formats::onnx {

class InputPreparation {
 public:
  explicit InputPreparation(Builder& to) : to_(to) {}

  /// The value of the model's step `name`: adds inputs to the graph, one for each column of a table, and nodes. Throws
  /// Error{kUsage} if the result has another shape than `wanted`.
  Value input(const PreparedInput& prepared, const std::string& name, const Shape& wanted, Element type);

 private:
  Value table(const PreparedInput& prepared, Element type);
  /// [batch] of floats or words. Inputs share columns.
  Value column(const PreparedColumn& column);

  Builder& to_;
  std::map<std::string, Value> columns_;
};

/// Steps of images or clips. Adds nodes; otherwise pure.
Value add_image_nodes(Builder& to, Value x, const std::vector<ImageStep>& steps);
/// Converts a column [batch] to [batch, floats], or with kInt32 to [batch, 1]. Refused cells become NaN, or an id that
/// no Embedding has.
Value add_column_nodes(Builder& to, const Value& cells, const PreparedColumn& column,
                       const std::vector<std::string>& missing, Element type);

}  // namespace dptrain::formats::onnx
