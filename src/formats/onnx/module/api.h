#pragma once

// What the executable and its module for ONNX, libdptrain_onnx.so, have in common. Both come from one build, so C++
// types cross.

#include <string>

#include "formats/onnx/onnx_graph.h"

namespace dptrain::formats::onnx {

inline constexpr const char* kModuleFile = "libdptrain_onnx.so";
inline constexpr const char* kSerialize = "dptrain_onnx_serialize";

/// Puts the ModelProto's bytes into `bytes`; returns what went wrong, or "".
using Serialize = std::string (*)(const File& file, std::string& bytes);

}  // namespace dptrain::formats::onnx
