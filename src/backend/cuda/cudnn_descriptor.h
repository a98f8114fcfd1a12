#pragma once

// An owned descriptor of cuDNN's backend API, and the properties of the device that plans are made for. A descriptor is
// created, given attributes, and finalized; then it is read-only. One thread at a time.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/cudnn_api.h"

namespace dptrain::backend::cuda {

/// cuDNN's attribute type for a C++ type.
template <class T>
inline constexpr cudnnBackendAttributeType_t kCudnnType = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr auto kCudnnType<char> = CUDNN_TYPE_CHAR;
template <>
inline constexpr auto kCudnnType<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto kCudnnType<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr auto kCudnnType<std::int32_t> = CUDNN_TYPE_INT32;
template <>
inline constexpr auto kCudnnType<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto kCudnnType<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto kCudnnType<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto kCudnnType<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto kCudnnType<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto kCudnnType<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr auto kCudnnType<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto kCudnnType<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <>
inline constexpr auto kCudnnType<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <>
inline constexpr auto kCudnnType<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;

class CudnnDescriptor {
 public:
  using Name = cudnnBackendAttributeName_t;

  CudnnDescriptor() = default;  ///< empty
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;
  ~CudnnDescriptor();

  explicit operator bool() const noexcept { return raw_ != nullptr; }
  cudnnBackendDescriptor_t raw() const noexcept { return raw_; }

  template <class T>
  CudnnDescriptor& set(Name name, const T& value) {
    return set_raw(name, kCudnnType<T>, 1, &value);
  }
  CudnnDescriptor& set(Name name, const CudnnDescriptor& value);
  template <class T>
  CudnnDescriptor& set_all(Name name, std::span<const T> values) {
    return set_raw(name, kCudnnType<T>, static_cast<std::int64_t>(values.size()), values.data());
  }
  CudnnDescriptor& set_all(Name name, std::initializer_list<std::int64_t> values) {
    return set_all(name, std::span<const std::int64_t>(values.begin(), values.size()));
  }
  CudnnDescriptor& set_all(Name name, std::span<const CudnnDescriptor> values);
  CudnnDescriptor& set_pointers(Name name, std::span<const void* const> values);
  CudnnDescriptor& finalize();

  /// Returns at most `most` values. cuDNN reports the actual number only for some attributes, see count().
  template <class T>
  std::vector<T> get_all(Name name, std::size_t most) const {
    std::vector<T> values(most);
    values.resize(get_raw(name, kCudnnType<T>, most, values.data()));
    return values;
  }
  std::int64_t get_int64(Name name) const;
  std::vector<CudnnDescriptor> get_descriptors(Name name, cudnnBackendDescriptorType_t type, std::size_t most) const;
  /// Number of values of ENGINEHEUR_RESULTS or DEVICEPROP_JSON_REPRESENTATION.
  std::size_t count(Name name, cudnnBackendAttributeType_t type) const;

 private:
  CudnnDescriptor& set_raw(Name name, cudnnBackendAttributeType_t type, std::int64_t n, const void* values);
  std::size_t get_raw(Name name, cudnnBackendAttributeType_t type, std::size_t n, void* values) const;

  cudnnBackendDescriptor_t raw_ = nullptr;
};

/// The GPU that engines are chosen for: one of this machine, or one described by a text. A deviceless plan reports
/// engine and workspace but cannot run. For an engine compiled at run time even the plan needs a driver.
class DeviceProperties {
 public:
  static DeviceProperties from_device(int id);
  static DeviceProperties from_json(std::string_view text);

  bool deviceless() const noexcept { return deviceless_; }
  int architecture() const noexcept { return architecture_; }  ///< 90 for compute capability 9.0
  const CudnnDescriptor& descriptor() const noexcept { return descriptor_; }
  /// The input of from_json.
  std::string json() const;

 private:
  DeviceProperties(CudnnDescriptor descriptor, bool deviceless, int architecture);

  CudnnDescriptor descriptor_;
  bool deviceless_;
  int architecture_;
};

}  // namespace dptrain::backend::cuda
