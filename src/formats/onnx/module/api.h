#pragma once

// The interface of the module for ONNX, libdptrain_onnx.so. It can use C++ types, because one build makes the
// executable and the module.

#include <string>

#include "formats/onnx/onnx_graph.h"

namespace dptrain::formats::onnx {

inline constexpr const char* kModuleFile = "libdptrain_onnx.so";
inline constexpr const char* kSerialize = "dptrain_onnx_serialize";

/// Puts the ModelProto's bytes into `bytes`; returns an error message, or "".
using Serialize = std::string (*)(const File& file, std::string& bytes);

}  // namespace dptrain::formats::onnx
