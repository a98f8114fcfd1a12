#pragma once

// Operations of Keras 3 on a tensor and a number: what `x + 3.0` or `x / 255` leaves in a model beside its layers.
// Pure.

#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dptrain::checkpoint {

/// scale x + offset.
struct KerasLine {
  double scale = 1, offset = 0;
};

/// What a call of Add, Subtract, Multiply, Divide, TrueDivide or Negative computes of its one tensor. Nothing: it reads
/// two, or it is no line.
std::optional<KerasLine> line_of(const std::string& class_name, const nlohmann::json& arguments);

}  // namespace dptrain::checkpoint
