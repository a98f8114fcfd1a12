# The GPU path. Its kernels and its device are compiled twice, once for CUDA and once for the emulator, which runs the same
# kernels on the CPU. DPTRAIN_BACKEND (cpu, cuda, emu) names the namespace. src/backend/ops is compiled for all three, for
# the CPU as part of dptrain_backend.
#
#   dptrain_kernels_emu    kernels/cuda/*.cu as C++, and simt*.cpp       with DPTRAIN_EMULATOR
#   dptrain_backend_emu    src/backend/{ops,gpu,emu}/*.cpp               with DPTRAIN_EMULATOR
#   dptrain_kernels_cuda   kernels/cuda/*.cu by nvcc                     with CUDA
#   dptrain_backend_cuda   src/backend/{ops,gpu,cuda}/*.cpp              with CUDA
#
# DPTRAIN_EMULATOR=OFF omits the emulator; src/backend/emu_stub.cpp then reports an error at run time. DPTRAIN_SANITIZE
# applies to all objects except nvcc's. A fuzz build has no GPU path.

# Machine code for each GPU generation that the toolkit supports (8.0: A100, A40; 8.9: L4, RTX 40; 9.0: H100, H200;
# 10.0: B200; 12.0: RTX 50, RTX PRO 6000). It also runs on later GPUs of the same major number. The newest is
# also included as PTX, which the driver compiles for future GPUs. Compiling all five takes over three times as long as
# one.
if(CUDAToolkit_VERSION VERSION_LESS 12.8)
  set(_gpus "80-real;89-real;90")
else()
  set(_gpus "80-real;89-real;90-real;100-real;120")
endif()
set(CMAKE_CUDA_ARCHITECTURES "${_gpus}" CACHE STRING
    "GPUs to compile for: a CMake list of compute capabilities, -real for machine code only, -virtual for PTX only")

# Adds the two kernel libraries: the emulator's here, nvcc's in kernels/cuda/CMakeLists.txt, because a source has one
# language per build folder.
function(dptrain_gpu_kernels)
  if(DPTRAIN_FUZZ)
    return()
  endif()
  set(folder ${PROJECT_SOURCE_DIR}/kernels/cuda)
  if(DPTRAIN_HAVE_CUDA)
    add_subdirectory(${folder})
  endif()
  if(NOT DPTRAIN_EMULATOR)
    return()
  endif()
  file(GLOB kernels CONFIGURE_DEPENDS ${folder}/*.cu)
  set_source_files_properties(${kernels} PROPERTIES LANGUAGE CXX)
  add_library(dptrain_kernels_emu OBJECT ${kernels} ${folder}/simt.cpp ${folder}/simt_fibers.cpp)
  # A GPU rejects misaligned accesses; most of the CPU's instructions do not.
  set_target_properties(dptrain_kernels_emu PROPERTIES UNITY_BUILD ${DPTRAIN_UNITY} DPTRAIN_ACCESS_CHECKS alignment)
  target_compile_options(dptrain_kernels_emu PRIVATE $<$<CONFIG:Release>:-O1>)
  target_compile_definitions(dptrain_kernels_emu PRIVATE DPTRAIN_BACKEND=emu)
  target_link_libraries(dptrain_kernels_emu PUBLIC dptrain_lib)
  if(DPTRAIN_SANITIZE MATCHES "thread")
    # It switches fibers, which it reports to ThreadSanitizer itself.
    set_source_files_properties(${folder}/simt_fibers.cpp PROPERTIES
      COMPILE_OPTIONS -fno-sanitize=thread COMPILE_DEFINITIONS DPTRAIN_SIMT_TSAN)
  endif()
endfunction()

# Adds the GPU device's two libraries to the modules, at the level of `backend`.
function(dptrain_gpu_device)
  if(DPTRAIN_FUZZ)
    return()
  endif()
  foreach(gpu emu cuda)
    if((gpu STREQUAL "cuda" AND NOT DPTRAIN_HAVE_CUDA) OR (gpu STREQUAL "emu" AND NOT DPTRAIN_EMULATOR))
      continue()
    endif()
    _dptrain_sources(ops src/backend/ops)
    _dptrain_sources(both src/backend/gpu)
    _dptrain_sources(own src/backend/${gpu})
    add_library(dptrain_backend_${gpu} OBJECT ${ops} ${both} ${own})
    set_target_properties(dptrain_backend_${gpu} PROPERTIES DPTRAIN_LEVEL 5 UNITY_BUILD ${DPTRAIN_UNITY})
    target_compile_definitions(dptrain_backend_${gpu} PRIVATE DPTRAIN_BACKEND=${gpu})
    target_link_libraries(dptrain_backend_${gpu} PUBLIC dptrain_lib)
    add_dependencies(dptrain_backend_${gpu} dptrain_version)
    list(APPEND DPTRAIN_MODULES backend_${gpu})
  endforeach()
  if(TARGET dptrain_backend_cuda)
    target_link_libraries(dptrain_backend_cuda PRIVATE dptrain_cuda)
  endif()
  set(DPTRAIN_MODULES ${DPTRAIN_MODULES} PARENT_SCOPE)
endfunction()

# Headers and libraries for code that calls CUDA, cuDNN or NCCL: the static CUDA runtime, and dlopen.
if(DPTRAIN_HAVE_CUDA)
  add_library(dptrain_cuda INTERFACE)
  target_include_directories(dptrain_cuda SYSTEM INTERFACE
    ${CUDAToolkit_INCLUDE_DIRS} ${CUDNN_INCLUDE_DIR} ${NCCL_INCLUDE_DIR})
  target_link_libraries(dptrain_cuda INTERFACE CUDA::cudart_static ${CMAKE_DL_LIBS})
endif()

# Links the kernels of the GPU path into an executable; dptrain_link_modules() calls it from the device's level up.
function(dptrain_link_gpu_kernels target)
  foreach(library dptrain_kernels_emu dptrain_kernels_cuda)
    if(TARGET ${library})
      target_link_libraries(${target} PRIVATE ${library})
    endif()
  endforeach()
  if(TARGET dptrain_cuda)
    target_link_libraries(${target} PRIVATE dptrain_cuda)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endfunction()
