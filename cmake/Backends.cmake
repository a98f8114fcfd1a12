# Finds CUDA and FFmpeg, or compiles stubs in their place. No source uses #ifdef for a backend: CMake compiles one of
# two files that define the same functions.
#
#   backend  src/backend/cuda/*.cpp   or   src/backend/cuda_stub.cpp
#   backend  src/backend/emu/*.cpp    or   src/backend/emu_stub.cpp    (DPTRAIN_EMULATOR)
#   backend  src/backend/cpu/bench/*.cpp   or   src/backend/kernel_bench_stub.cpp   (Google Benchmark)
#   data     src/data/video/libav/*.cpp   or   src/data/video/clip_file_stub.cpp   (FFmpeg's headers)
#   distributed src/distributed/nccl.cpp  or   nothing: it only checks our declarations of NCCL against nccl.h
#
# CUDA (12.0 or newer) requires nvcc, the static CUDA runtime, and the headers of cuDNN and NCCL. Their libraries are
# not linked but opened at the first use of a GPU. Gpu.cmake builds the kernels and the GPU device.
#
# FFmpeg requires only the headers of libavformat, libavcodec and libswscale. The libraries, in the version of the
# headers, are opened when the first clip is read.
#
#   CUDAToolkit_ROOT        where to look for the toolkit
#   CUDNN_ROOT, NCCL_ROOT   where to look for cudnn.h and nccl.h; without them, in the toolkit and the system's folders

set(DPTRAIN_HAVE_CUDA OFF)
set(DPTRAIN_CUDA_STATE "no (DPTRAIN_CUDA=OFF)")

if(NOT DPTRAIN_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "DPTRAIN_CUDA must be AUTO, ON or OFF, found '${DPTRAIN_CUDA}'")
endif()

# A backend can be built only if this version has sources for it.
file(GLOB _cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backend/cuda/*.cpp)

# The folder of a header that is installed with the toolkit or separately.
function(_dptrain_find_header out header root)
  if(${root})
    # If the user names a root, no other folder is searched.
    find_path(${out} ${header} HINTS ${${root}} PATH_SUFFIXES include NO_DEFAULT_PATH)
  else()
    find_path(${out} ${header} HINTS $ENV{${root}} ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  endif()
  mark_as_advanced(${out})
endfunction()

if(DPTRAIN_CUDA STREQUAL "AUTO" AND DPTRAIN_SANITIZE)
  # nvcc's objects are not instrumented, and the emulator runs the same kernels.
  set(DPTRAIN_CUDA_STATE "no (a sanitizer build needs DPTRAIN_CUDA=ON)")
elseif(NOT DPTRAIN_CUDA STREQUAL "OFF" AND NOT DPTRAIN_FUZZ)
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND)
    _dptrain_find_header(CUDNN_INCLUDE_DIR cudnn.h CUDNN_ROOT)
    _dptrain_find_header(NCCL_INCLUDE_DIR nccl.h NCCL_ROOT)
  endif()
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(DPTRAIN_CUDA_STATE "no (no toolkit found)")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12.0)
    set(DPTRAIN_CUDA_STATE "no (toolkit ${CUDAToolkit_VERSION} found, expected 12.0 or newer, the first with C++20)")
  elseif(NOT CUDNN_INCLUDE_DIR)
    set(DPTRAIN_CUDA_STATE "no (toolkit ${CUDAToolkit_VERSION} found, cudnn.h not; name its root with CUDNN_ROOT)")
  elseif(NOT NCCL_INCLUDE_DIR)
    set(DPTRAIN_CUDA_STATE "no (toolkit ${CUDAToolkit_VERSION} found, nccl.h not; name its root with NCCL_ROOT)")
  elseif(NOT _cuda_sources)
    set(DPTRAIN_CUDA_STATE "no (toolkit ${CUDAToolkit_VERSION} found, this version has no CUDA sources)")
  else()
    set(DPTRAIN_HAVE_CUDA ON)
    set(DPTRAIN_CUDA_STATE ${CUDAToolkit_VERSION})
  endif()
  if(DPTRAIN_CUDA STREQUAL "ON" AND NOT DPTRAIN_HAVE_CUDA)
    message(FATAL_ERROR "DPTRAIN_CUDA=ON cannot be met: ${DPTRAIN_CUDA_STATE}. "
                        "Name the toolkit with -DCUDAToolkit_ROOT=/usr/local/cuda, or set DPTRAIN_CUDA=AUTO")
  endif()
endif()

set(DPTRAIN_FFMPEG_STATE "no (DPTRAIN_FFMPEG=OFF)")
set(DPTRAIN_HAVE_FFMPEG OFF)
if(NOT DPTRAIN_FFMPEG MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "DPTRAIN_FFMPEG must be AUTO, ON or OFF, found '${DPTRAIN_FFMPEG}'")
endif()
if(NOT DPTRAIN_FFMPEG STREQUAL "OFF" AND NOT DPTRAIN_FUZZ)
  find_path(FFMPEG_INCLUDE_DIR libavformat/avformat.h)
  find_path(FFMPEG_CODEC_INCLUDE_DIR libavcodec/avcodec.h)
  find_path(FFMPEG_SCALE_INCLUDE_DIR libswscale/swscale.h)
  mark_as_advanced(FFMPEG_INCLUDE_DIR FFMPEG_CODEC_INCLUDE_DIR FFMPEG_SCALE_INCLUDE_DIR)
  if(FFMPEG_INCLUDE_DIR AND FFMPEG_CODEC_INCLUDE_DIR AND FFMPEG_SCALE_INCLUDE_DIR)
    set(DPTRAIN_HAVE_FFMPEG ON)
    set(DPTRAIN_FFMPEG_STATE "yes")
  else()
    set(DPTRAIN_FFMPEG_STATE "no (headers of libavformat, libavcodec and libswscale not found)")
    if(DPTRAIN_FFMPEG STREQUAL "ON")
      message(FATAL_ERROR "DPTRAIN_FFMPEG=ON cannot be met: ${DPTRAIN_FFMPEG_STATE}")
    endif()
  endif()
endif()

# Removes either the FFmpeg reader or its stub from the sources of the data module.
function(dptrain_data_sources out)
  set(list ${${out}})
  if(DPTRAIN_HAVE_FFMPEG)
    list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/data/video/clip_file_stub.cpp)
  else()
    list(FILTER list EXCLUDE REGEX "/src/data/video/libav/")
  endif()
  set(${out} ${list} PARENT_SCOPE)
endfunction()

# Removes the unused file of each pair from the sources of the backend module.
function(dptrain_device_sources out)
  set(list ${${out}})
  if(DPTRAIN_HAVE_CUDA)
    list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/backend/cuda_stub.cpp)
  endif()
  if(DPTRAIN_EMULATOR)
    list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/backend/emu_stub.cpp)
  endif()
  if(TARGET benchmark::benchmark)
    list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/backend/kernel_bench_stub.cpp)
  else()
    list(FILTER list EXCLUDE REGEX "/src/backend/cpu/bench/")
  endif()
  set(${out} ${list} PARENT_SCOPE)
endfunction()

# Removes nccl.cpp from the sources of the distributed module if there is no nccl.h to check it against.
function(dptrain_distributed_sources out)
  set(list ${${out}})
  if(NOT DPTRAIN_HAVE_CUDA)
    list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/distributed/nccl.cpp)
  endif()
  set(${out} ${list} PARENT_SCOPE)
endfunction()
