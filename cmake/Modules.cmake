# Adds one OBJECT library per module, because the linker would drop registrations from an archive, and one for the CPU
# kernels. Gpu.cmake adds those of the GPU path.
#
#   dptrain_<module>        from src/<module>/**/*.cpp
#   dptrain_kernels_cpu   from kernels/cpu/*.cpp
#
# DPTRAIN_MODULES lists the modules that exist, lowest level first; dptrain_modules_up_to() selects from it.

set(DPTRAIN_MODULES "")

# Sources of one folder and those below it, without those in ARGN.
function(_dptrain_sources out folder)
  file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(file IN LISTS ARGN)
    list(REMOVE_ITEM found ${PROJECT_SOURCE_DIR}/${file})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# Omits copies of the kernels for instruction sets that this machine lacks or does not use.
function(_dptrain_leave_out_other_processors)
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" OR NOT EXISTS /proc/cpuinfo)
    return()
  endif()
  file(STRINGS /proc/cpuinfo avx2 REGEX "avx2.* fma|fma.* avx2" LIMIT_COUNT 1)
  file(STRINGS /proc/cpuinfo avx512 REGEX "avx512" LIMIT_COUNT 1)
  if(avx2)
    target_compile_options(dptrain_kernels_cpu PRIVATE -march=haswell)   # instead of SSE2's
  endif()
  if(NOT avx512)
    target_compile_definitions(dptrain_kernels_cpu PRIVATE HWY_BROKEN_TARGETS=HWY_AVX3)
  endif()
endfunction()

function(dptrain_kernels)
  _dptrain_sources(sources kernels/cpu)
  if(DPTRAIN_FUZZ)   # the modules of a fuzz build need only these; clang compiles the convolutions for minutes
    list(FILTER sources INCLUDE REGEX "/(csv|elementwise|pixels|resize|thread_pool|warp)\\.cpp$")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(dptrain_kernels_cpu OBJECT ${sources})
  target_include_directories(dptrain_kernels_cpu PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)   # core/dtype.h
  target_compile_options(dptrain_kernels_cpu PRIVATE $<$<CONFIG:Release>:-O3>)
  if(DPTRAIN_KERNELS_HERE OR DPTRAIN_SANITIZE)
    _dptrain_leave_out_other_processors()
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The default on x86: tiles fill the registers, so earlier loads would spill their sums.
    target_compile_options(dptrain_kernels_cpu PRIVATE -fno-schedule-insns)
  endif()
  target_link_libraries(dptrain_kernels_cpu PUBLIC dptrain_flags PRIVATE Highway::Highway)
endfunction()

# Include folders of every module. Modules do not link one another, because one would wait for the other's objects.
add_library(dptrain_lib INTERFACE)
target_include_directories(dptrain_lib INTERFACE
  ${PROJECT_SOURCE_DIR}/src            # one include root: every #include names its module, as in "core/error.h"
  ${PROJECT_SOURCE_DIR}                # "kernels/cpu/..."
  ${PROJECT_BINARY_DIR}/generated)     # "dptrain_version.h"
target_link_libraries(dptrain_lib INTERFACE dptrain_flags fmt::fmt)

# dptrain_add_module(<module> LEVEL <n> [LIBS ...])
#
# LIBS are private to the module. Adds no library for compute modules in a fuzz build and for a module without sources.
function(dptrain_add_module module)
  cmake_parse_arguments(arg "" "LEVEL" "LIBS" ${ARGN})
  if(DPTRAIN_FUZZ AND NOT module MATCHES "^(core|config|nn|graph|plan|formats|data)$")
    return()
  endif()

  _dptrain_sources(sources src/${module} src/cli/main.cpp src/distributed/mpi/mpi_module.cpp
    src/formats/onnx/module/onnx_module.cpp)
  if(module STREQUAL "backend")
    list(FILTER sources EXCLUDE REGEX "/src/backend/(gpu|cuda|emu)/")   # dptrain_gpu_device() has them
    dptrain_device_sources(sources)
  elseif(module STREQUAL "data")
    dptrain_data_sources(sources)
  elseif(module STREQUAL "distributed")
    dptrain_distributed_sources(sources)
  elseif(module STREQUAL "config")
    list(APPEND sources ${PROJECT_BINARY_DIR}/generated/bundled_configs.cpp)
  endif()
  if(module STREQUAL "session")   # the only module that prints the commit
    set(commit ${PROJECT_BINARY_DIR}/generated/dptrain_commit.cpp)
    set_source_files_properties(${commit} PROPERTIES GENERATED ON SKIP_UNITY_BUILD_INCLUSION ON)
    list(APPEND sources ${commit})
  endif()
  if(NOT sources)
    return()
  endif()

  add_library(dptrain_${module} OBJECT ${sources})
  set_target_properties(dptrain_${module} PROPERTIES DPTRAIN_LEVEL ${arg_LEVEL} UNITY_BUILD ${DPTRAIN_UNITY})
  target_link_libraries(dptrain_${module} PUBLIC dptrain_lib PRIVATE ${arg_LIBS})
  if(module STREQUAL "backend")
    target_compile_definitions(dptrain_backend PRIVATE DPTRAIN_BACKEND=cpu)   # for backend/ops; Gpu.cmake sets the others
  elseif(module STREQUAL "distributed" AND DPTRAIN_HAVE_CUDA)
    target_link_libraries(dptrain_distributed PRIVATE dptrain_cuda)
  endif()
  if(module STREQUAL "data" AND DPTRAIN_HAVE_FFMPEG)
    target_include_directories(dptrain_data SYSTEM PRIVATE
      ${FFMPEG_INCLUDE_DIR} ${FFMPEG_CODEC_INCLUDE_DIR} ${FFMPEG_SCALE_INCLUDE_DIR})
  endif()
  add_dependencies(dptrain_${module} dptrain_version)
  if(NOT module MATCHES "^(core|data|backend|runtime|distributed)$")
    # These modules do not compute in steps. -O1 takes two thirds of the compile time.
    target_compile_options(dptrain_${module} PRIVATE $<$<CONFIG:Release>:-O1>)
    if(DPTRAIN_SANITIZE AND NOT module MATCHES "^(graph|formats|train|evaluation)$")   # long tests
      target_compile_options(dptrain_${module} PRIVATE -O0)
    endif()
  endif()
  if(module MATCHES "^(data|formats)$")
    # They read untrusted bytes.
    set_target_properties(dptrain_${module} PROPERTIES DPTRAIN_ACCESS_CHECKS alignment,null,object-size,vptr)
  endif()
  if(module STREQUAL "data" AND (DPTRAIN_FUZZ OR DPTRAIN_SANITIZE MATCHES "undefined"))
    # stb_image calls memcpy with a null pointer for an empty IDAT chunk.
    set_source_files_properties(${PROJECT_SOURCE_DIR}/src/data/images/image_stb.cpp PROPERTIES
      COMPILE_OPTIONS -fno-sanitize=nonnull-attribute)
  endif()

  list(APPEND DPTRAIN_MODULES ${module})
  set(DPTRAIN_MODULES ${DPTRAIN_MODULES} PARENT_SCOPE)
endfunction()

# The targets of all modules up to a level.
function(dptrain_modules_up_to out level)
  set(targets "")
  foreach(module IN LISTS DPTRAIN_MODULES)
    get_target_property(module_level dptrain_${module} DPTRAIN_LEVEL)
    if(module_level LESS_EQUAL level)
      list(APPEND targets dptrain_${module})
    endif()
  endforeach()
  set(${out} ${targets} PARENT_SCOPE)
endfunction()

# Links every module up to a level, and the kernels, into an executable. The list is complete because the objects of an
# OBJECT library are linked only if the library is named directly.
function(dptrain_link_modules target level)
  dptrain_modules_up_to(modules ${level})
  target_link_libraries(${target} PRIVATE ${modules})
  if(TARGET dptrain_kernels_cpu)
    target_link_libraries(${target} PRIVATE dptrain_kernels_cpu)
  endif()
  if(level GREATER_EQUAL 5)
    dptrain_link_gpu_kernels(${target})
  endif()
endfunction()

function(dptrain_executable)
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
    message(STATUS "dptrain: src/cli/main.cpp is missing, no executable")
    return()
  endif()
  add_executable(dptrain ${PROJECT_SOURCE_DIR}/src/cli/main.cpp)
  get_target_property(level dptrain_cli DPTRAIN_LEVEL)
  dptrain_link_modules(dptrain ${level})
  add_dependencies(dptrain dptrain_module_onnx ${DPTRAIN_MPI_MODULES})   # opened at run time
  set_target_properties(dptrain PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# Prints the contents of this build in one line.
function(dptrain_report)
  set(line "dptrain ${PROJECT_VERSION} ${CMAKE_BUILD_TYPE}")
  if(DPTRAIN_FUZZ)
    string(APPEND line ", fuzz targets only")
  elseif(DPTRAIN_KERNELS_ONLY)
    string(APPEND line ", kernels/cpu only, for ${CMAKE_SYSTEM_PROCESSOR}")
  else()
    string(APPEND line ", oneDNN ${OneDNN_VERSION}, clips ${DPTRAIN_FFMPEG_STATE}, CUDA ${DPTRAIN_CUDA_STATE}, MPI ${DPTRAIN_MPI_STATE}")
  endif()
  if(DPTRAIN_SANITIZE)
    string(APPEND line ", sanitizers ${DPTRAIN_SANITIZE}")
  endif()
  message(STATUS "${line}")
endfunction()
