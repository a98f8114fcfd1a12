#include "backend/cuda_versions.h"

#include "core/format.h"

namespace dptrain::backend {
namespace {

int major_of(int number) { return number / 1000; }

}  // namespace

std::string cuda_version_text(int number) {
  return number == 0 ? "" : fmt::format("{}.{}", major_of(number), number % 1000 / 10);
}

std::string why_no_driver(int driver, int built_with) {
  if (driver == 0) return "no NVIDIA driver found";
  if (major_of(driver) >= major_of(built_with)) return "";
  return fmt::format("the NVIDIA driver supports CUDA {} at most, this dptrain needs {}.0; update the driver",
                     cuda_version_text(driver), major_of(built_with));
}

std::string cudnn_package(int built_with) {
  return fmt::format("cuDNN 9 for CUDA {0} (package cudnn9-cuda-{0}, or pip's nvidia-cudnn-cu{0})",
                     major_of(built_with));
}

std::string nccl_package(int built_with) {
  if (built_with == 0) return "NCCL 2 (package libnccl2)";
  return fmt::format("NCCL 2 for CUDA {0} (package libnccl2, or pip's nvidia-nccl-cu{0})", major_of(built_with));
}

std::string why_not_this_cudnn(int driver, int cudnn_cuda) {
  if (driver == 0 || major_of(driver) >= major_of(cudnn_cuda)) return "";
  return fmt::format("is for CUDA {}, the driver supports CUDA {} at most", major_of(cudnn_cuda),
                     cuda_version_text(driver));
}

}  // namespace dptrain::backend
