#include "backend/cuda/cudnn_descriptor.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "backend/cuda/cuda_error.h"
#include "core/error.h"
#include "core/format.h"

namespace dptrain::backend::cuda {

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  check_cudnn(cudnn().create_descriptor(type, &raw_), fmt::format("cudnnBackendCreateDescriptor({})", int{type}));
}

CudnnDescriptor::CudnnDescriptor(CudnnDescriptor&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}

CudnnDescriptor& CudnnDescriptor::operator=(CudnnDescriptor&& other) noexcept {
  std::swap(raw_, other.raw_);
  return *this;
}

CudnnDescriptor::~CudnnDescriptor() {
  if (raw_ != nullptr) cudnn().destroy_descriptor(raw_);
}

CudnnDescriptor& CudnnDescriptor::set(Name name, const CudnnDescriptor& value) {
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.raw_);
}

CudnnDescriptor& CudnnDescriptor::set_all(Name name, std::span<const CudnnDescriptor> values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& value : values) raw.push_back(value.raw_);
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()), raw.data());
}

CudnnDescriptor& CudnnDescriptor::set_pointers(Name name, std::span<const void* const> values) {
  return set_raw(name, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(values.size()), values.data());
}

CudnnDescriptor& CudnnDescriptor::finalize() {
  check_cudnn(cudnn().finalize(raw_), "cudnnBackendFinalize");
  return *this;
}

std::int64_t CudnnDescriptor::get_int64(Name name) const {
  std::int64_t value = 0;
  get_raw(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::vector<CudnnDescriptor> CudnnDescriptor::get_descriptors(Name name, cudnnBackendDescriptorType_t type,
                                                              std::size_t most) const {
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  while (raw.size() < most) raw.push_back(found.emplace_back(type).raw());
  found.resize(most == 0 ? 0 : get_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, raw.data()));
  return found;
}

CudnnDescriptor& CudnnDescriptor::set_raw(Name name, cudnnBackendAttributeType_t type, std::int64_t n,
                                          const void* values) {
  check_cudnn(cudnn().set_attribute(raw_, name, type, n, values),
              fmt::format("cudnnBackendSetAttribute({})", int{name}));
  return *this;
}

std::size_t CudnnDescriptor::count(Name name, cudnnBackendAttributeType_t type) const {
  std::int64_t n = 0;
  check_cudnn(cudnn().get_attribute(raw_, name, type, 0, &n, nullptr),
              fmt::format("cudnnBackendGetAttribute({})", int{name}));
  return static_cast<std::size_t>(n);
}

std::size_t CudnnDescriptor::get_raw(Name name, cudnnBackendAttributeType_t type, std::size_t n, void* values) const {
  std::int64_t given = 0;
  check_cudnn(cudnn().get_attribute(raw_, name, type, static_cast<std::int64_t>(n), &given, values),
              fmt::format("cudnnBackendGetAttribute({})", int{name}));
  return std::min(static_cast<std::size_t>(given), n);
}

namespace {

/// From the member "deviceVer": 900 of cuDNN's description.
int architecture_of(std::string_view json) {
  constexpr std::string_view kMember = "\"deviceVer\":";
  int version = 0;
  if (const std::size_t found = json.find(kMember); found != std::string_view::npos) {
    const std::size_t digits = json.find_first_not_of(' ', found + kMember.size());
    if (digits != std::string_view::npos) std::from_chars(json.data() + digits, json.data() + json.size(), version);
  }
  if (version < 100) throw Error(ErrorKind::kDevice, "the description of a GPU lacks a number deviceVer");
  return version / 10;
}

}  // namespace

DeviceProperties::DeviceProperties(CudnnDescriptor descriptor, bool deviceless, int architecture)
    : descriptor_(std::move(descriptor)), deviceless_(deviceless), architecture_(architecture) {}

DeviceProperties DeviceProperties::from_device(int id) {
  CudnnDescriptor descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  descriptor.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, std::int32_t{id}).finalize();
  int major = 0, minor = 0;
  const std::string name = fmt::format("gpu:{}", id);
  check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id), "cudaDeviceGetAttribute", name);
  check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, id), "cudaDeviceGetAttribute", name);
  return {std::move(descriptor), false, 10 * major + minor};
}

DeviceProperties DeviceProperties::from_json(std::string_view text) {
  constexpr std::size_t kOldest = 91100;  // CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION
  if (cudnn().get_version() < kOldest)
    throw Error(ErrorKind::kDevice,
                fmt::format("cuDNN {} cannot plan for a GPU on paper; install 9.11 or newer", cudnn().version()));
  CudnnDescriptor descriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  descriptor.set_all(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<const char>(text)).finalize();
  return {std::move(descriptor), true, architecture_of(text)};
}

std::string DeviceProperties::json() const {
  constexpr auto kName = CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION;
  const std::vector<char> text = descriptor_.get_all<char>(kName, descriptor_.count(kName, CUDNN_TYPE_CHAR));
  const std::string_view whole(text.data(), text.size());
  return std::string(whole.substr(0, whole.find('\0')));
}

}  // namespace dptrain::backend::cuda
