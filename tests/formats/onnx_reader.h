#pragma once

// What ONNX's own library says of a file; the one place of the tests that knows its headers is onnx_reader.cpp.

#include <map>
#include <string>
#include <vector>

namespace dptrain::formats::onnx {

struct Read {
  std::string complaint;         ///< of the checker with inferred shapes; "": none
  std::vector<std::string> ops;  ///< of the nodes, in order
  std::map<std::string, std::string> metadata;
  std::vector<std::string> inputs, outputs;  ///< "name [batch,8,8,3] 1", the last the type's number
  std::string producer;
  std::int64_t opset = 0, ir_version = 0;
};

Read read_file(const std::string& path);

}  // namespace dptrain::formats::onnx
