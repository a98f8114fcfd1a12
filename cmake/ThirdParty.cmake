# Finds the libraries. The top CMakeLists.txt lists the libraries of each module.

find_package(Highway REQUIRED)
find_package(nlohmann_json REQUIRED)
if(DPTRAIN_KERNELS_ONLY)
  return()
endif()

find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(ZLIB REQUIRED)
find_package(JPEG REQUIRED)   # libjpeg-turbo: with JCS_EXT_RGBA
find_package(PNG REQUIRED)    # libpng, for masks
find_package(Stb REQUIRED)
find_package(FarmHash REQUIRED)
find_package(FastFloat REQUIRED)
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(ONNX REQUIRED)   # in a module of its own: Onnx.cmake

if(NOT TARGET yaml-cpp::yaml-cpp)   # before yaml-cpp 0.8 the target has no namespace
  add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
  target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
endif()

# The readers that are fuzzed do not need the compute library.
if(NOT DPTRAIN_FUZZ)
  find_package(OneDNN REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(benchmark QUIET)   # Google Benchmark, for `bench --kernels`
endif()
