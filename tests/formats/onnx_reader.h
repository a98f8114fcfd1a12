#pragma once

// Reads a file with ONNX's own library. Only onnx_reader.cpp includes its headers.

#include <map>
#include <string>
#include <vector>

namespace dptrain::formats::onnx {

struct OnnxFileInfo {
  std::string checker_error;     ///< of the checker with shape inference; "": none
  std::vector<std::string> ops;  ///< of the nodes, in order
  std::map<std::string, std::string> metadata;
  std::vector<std::string> inputs, outputs;  ///< "name [batch,8,8,3] 1", the last number is the type
  std::string producer;
  std::int64_t opset = 0, ir_version = 0;
};

OnnxFileInfo read_file(const std::string& path);

}  // namespace dptrain::formats::onnx
