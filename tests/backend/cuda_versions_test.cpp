#include "backend/cuda_versions.h"

#include <gtest/gtest.h>

namespace dptrain::backend {
namespace {

TEST(CudaVersions, ADriverRunsItsMajorVersionAndOlderOnes) {
  for (const auto& [driver, built_with] : {std::pair{12000, 12040}, {12080, 12000}, {13000, 12040}, {13000, 13050}})
    EXPECT_EQ(why_no_driver(driver, built_with), "") << driver << ", " << built_with;
  EXPECT_EQ(why_no_driver(11080, 12040),
            "the NVIDIA driver supports CUDA 11.8 at most, this dptrain needs 12.0; update the driver");
  EXPECT_EQ(why_no_driver(12090, 13010),
            "the NVIDIA driver supports CUDA 12.9 at most, this dptrain needs 13.0; update the driver");
  EXPECT_EQ(why_no_driver(0, 12040), "no NVIDIA driver found");
}

TEST(CudaVersions, RejectsCudnnOfANewerMajorVersionThanTheDriver) {
  EXPECT_EQ(why_not_this_cudnn(12040, 13000), "is for CUDA 13, the driver supports CUDA 12.4 at most");
  EXPECT_EQ(why_not_this_cudnn(12040, 12080), "");
  EXPECT_EQ(why_not_this_cudnn(13000, 12080), "");
  EXPECT_EQ(why_not_this_cudnn(0, 13000), "");  // no driver: a plan-only GPU
}

TEST(CudaVersions, PackagesHaveTheBuiltInMajorVersion) {
  EXPECT_EQ(cudnn_package(12040), "cuDNN 9 for CUDA 12 (package cudnn9-cuda-12, or pip's nvidia-cudnn-cu12)");
  EXPECT_EQ(nccl_package(13000), "NCCL 2 for CUDA 13 (package libnccl2, or pip's nvidia-nccl-cu13)");
  EXPECT_EQ(cuda_version_text(12040), "12.4");
}

}  // namespace
}  // namespace dptrain::backend
