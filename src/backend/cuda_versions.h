#pragma once

// Versions of CUDA, as its functions number them (12040: 12.4), and which go together. Pure.

#include <string>

namespace dptrain::backend {

/// "12.4"; "" for 0.
std::string cuda_version_text(int number);

/// Why a program built with this CUDA does not run under a driver that runs `driver` at most; "" where it does: a
/// driver runs what was built with any release of its major version and of older ones (CUDA Compatibility, "Minor
/// Version Compatibility"). 0 for no driver.
std::string why_no_driver(int driver, int built_with);

/// What to install for a program built with this CUDA, 0 for none.
std::string cudnn_package(int built_with);
std::string nccl_package(int built_with);

/// Why this cuDNN, built with `cudnn_cuda`, does not run under that driver; "" where it does, or where there is no
/// driver.
std::string why_not_this_cudnn(int driver, int cudnn_cuda);

}  // namespace dptrain::backend
