#pragma once

#include <cstddef>
#include <string_view>

namespace dptrain {

/// Element types of tensors in memory and of data files.
enum class DType { kF32, kBf16, kF16, kF64, kU8, kI8, kI16, kI32 };

constexpr std::size_t size_of(DType type) noexcept {
  switch (type) {
    case DType::kF64: return 8;
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kBf16:
    case DType::kF16:
    case DType::kI16: return 2;
    case DType::kU8:
    case DType::kI8: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType type) noexcept {
  switch (type) {
    case DType::kF32: return "float32";
    case DType::kBf16: return "bfloat16";
    case DType::kF16: return "float16";
    case DType::kF64: return "float64";
    case DType::kU8: return "uint8";
    case DType::kI8: return "int8";
    case DType::kI16: return "int16";
    case DType::kI32: return "int32";
  }
  return "";
}

}  // namespace dptrain
