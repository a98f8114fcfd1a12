#pragma once

// Versions of CUDA, as its functions number them (12040: 12.4), and their compatibility. Pure functions.

#include <string>

namespace dptrain::backend {

/// "12.4"; "" for 0.
std::string cuda_version_text(int number);

/// Why a program built with CUDA `built_with` does not run with a driver that supports CUDA `driver` (0: no driver); ""
/// if it runs. Drivers run programs of their major version and older ones (CUDA Compatibility, "Minor Version
/// Compatibility").
std::string why_no_driver(int driver, int built_with);

/// The package to install for a program built with this CUDA. nccl_package: 0 for a build without CUDA.
std::string cudnn_package(int built_with);
std::string nccl_package(int built_with);

/// Why a cuDNN built with CUDA `cudnn_cuda` does not run with the driver; "" if it runs or there is no driver.
std::string why_not_this_cudnn(int driver, int cudnn_cuda);

}  // namespace dptrain::backend
