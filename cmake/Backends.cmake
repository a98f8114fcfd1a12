# CUDA and MPI: found, or stubbed by a file. No source asks with #ifdef whether a backend is there; one of two files
# is compiled, and both define the same functions.
#
#   device   src/device/cuda/*.cpp   or   src/device/cuda_stub.cpp
#   reduce   src/reduce/nccl.cpp     or   src/reduce/nccl_stub.cpp     (with CUDA)
#            src/reduce/mpi.cpp      or   src/reduce/mpi_stub.cpp

set(DPTRAIN_HAVE_CUDA OFF)
set(DPTRAIN_HAVE_MPI OFF)
set(DPTRAIN_CUDA_STATE "no (DPTRAIN_CUDA=OFF)")
set(DPTRAIN_MPI_STATE "no (DPTRAIN_MPI=OFF)")

foreach(choice DPTRAIN_CUDA DPTRAIN_MPI)
  if(NOT ${choice} MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${choice} must be AUTO, ON or OFF, found '${${choice}}'")
  endif()
endforeach()

# Sources first: a backend can only be built in if this version has one.
file(GLOB _cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/cuda/*.cpp)
file(GLOB _mpi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/reduce/mpi.cpp)

if(NOT DPTRAIN_CUDA STREQUAL "OFF" AND NOT DPTRAIN_FUZZ)
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_FOUND OR NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(DPTRAIN_CUDA_STATE "no (no toolkit found)")
  elseif(NOT _cuda_sources)
    set(DPTRAIN_CUDA_STATE "no (toolkit ${CUDAToolkit_VERSION} found, this version has no CUDA sources)")
  else()
    set(DPTRAIN_HAVE_CUDA ON)
    set(DPTRAIN_CUDA_STATE ${CUDAToolkit_VERSION})
  endif()
  if(DPTRAIN_CUDA STREQUAL "ON" AND NOT DPTRAIN_HAVE_CUDA)
    message(FATAL_ERROR "DPTRAIN_CUDA=ON cannot be met: ${DPTRAIN_CUDA_STATE}. "
                        "Name the toolkit with -DCUDAToolkit_ROOT=/usr/local/cuda, or take DPTRAIN_CUDA=AUTO")
  endif()
endif()

if(NOT DPTRAIN_MPI STREQUAL "OFF" AND NOT DPTRAIN_FUZZ)
  find_package(MPI QUIET COMPONENTS C)
  if(NOT MPI_C_FOUND)
    set(DPTRAIN_MPI_STATE "no (not found)")
  elseif(NOT _mpi_sources)
    set(DPTRAIN_MPI_STATE "no (MPI ${MPI_C_VERSION} found, this version has no MPI sources)")
  else()
    set(DPTRAIN_HAVE_MPI ON)
    set(DPTRAIN_MPI_STATE ${MPI_C_VERSION})
  endif()
  if(DPTRAIN_MPI STREQUAL "ON" AND NOT DPTRAIN_HAVE_MPI)
    message(FATAL_ERROR "DPTRAIN_MPI=ON cannot be met: ${DPTRAIN_MPI_STATE}. "
                        "Install libopenmpi-dev or set MPI_HOME, or take DPTRAIN_MPI=AUTO")
  endif()
endif()

# Adds the CPU backend and the CUDA backend or its stub to the sources of the device room.
function(dptrain_device_sources out)
  set(list ${${out}})
  file(GLOB cpu CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/device/cpu/*.cpp)
  list(APPEND list ${cpu})
  if(DPTRAIN_HAVE_CUDA)
    list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/device/cuda_stub.cpp)
    list(APPEND list ${_cuda_sources})
  endif()
  set(${out} ${list} PARENT_SCOPE)
endfunction()

# Leaves one of each pair of communicator files among the sources of the reduce room.
function(dptrain_reduce_sources out)
  set(list ${${out}})
  foreach(pair "nccl;${DPTRAIN_HAVE_CUDA}" "mpi;${DPTRAIN_HAVE_MPI}")
    list(GET pair 0 name)
    list(GET pair 1 have)
    if(have)
      list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/reduce/${name}_stub.cpp)
    else()
      list(REMOVE_ITEM list ${PROJECT_SOURCE_DIR}/src/reduce/${name}.cpp)
    endif()
  endforeach()
  set(${out} ${list} PARENT_SCOPE)
endfunction()
