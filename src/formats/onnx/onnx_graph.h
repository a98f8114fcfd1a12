#pragma once

// An ONNX graph as plain data, without ONNX's own types, which only onnx/module/ uses. Layers' forms make it, and
// passes change it.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dptrain::formats::onnx {

enum class Element { kFloat, kInt32, kInt64, kBool, kDouble, kUint8, kString };

/// Extents. Negative ones are free and have names in the file.
using Dims = std::vector<std::int64_t>;
inline constexpr std::int64_t kBatch = -1, kHeight = -2, kWidth = -3, kSteps = -4, kNameless = -5;

struct Graph;
/// The shared pointer is a nested graph.
using AttributeValue = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>, std::vector<float>,
                                    std::vector<std::string>, std::shared_ptr<const Graph>>;
struct Attribute {
  std::string name;
  AttributeValue value;
};

struct Node {
  std::string op;                    ///< "Conv"
  std::string name;                  ///< unique in its graph
  std::vector<std::string> inputs;   ///< "": omitted
  std::vector<std::string> outputs;  ///< "": unused
  std::vector<Attribute> attributes;
  std::string domain{};  ///< "": ONNX's own

  const AttributeValue* find(const std::string& attribute) const {
    for (const Attribute& one : attributes)
      if (one.name == attribute) return &one.value;
    return nullptr;
  }
};

/// A tensor in the file.
struct Constant {
  Dims dims;
  std::variant<std::vector<float>, std::vector<std::int64_t>, std::vector<double>> values;
};

/// A tensor from a node, the caller or the file.
struct Value {
  std::string name;
  Dims dims;
  Element type = Element::kFloat;
};

struct Graph {
  std::string name;
  std::vector<Value> inputs, outputs;
  std::vector<Node> nodes;  ///< in topological order
  std::map<std::string, Constant> constants;
  std::map<std::string, Dims> dims{};  ///< shapes of inputs and of nodes' outputs, for passes; not in the file
};

/// ONNX's operators for tables and words; this version has LabelEncoder from words to integers.
inline constexpr const char* kMlDomain = "ai.onnx.ml";
inline constexpr int kMlOpset = 2;

/// The contents of a file.
struct File {
  Graph graph;
  int opset = 0;
  int ir_version = 0;
  std::string producer, producer_version;
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace dptrain::formats::onnx
