# HDF5 is linked in where the distribution has an archive of it: the shared one brings some forty libraries (for files in
# the network), which are a third of the time and of the memory that a start takes. Sanitizers want it shared.
#
# DPTRAIN_STATIC: executables for machines without the packages of our libraries (scripts/gpu/pack.sh, scripts/package.sh tar). Where there is an
# archive of a library of cmake/ThirdParty.cmake, it is linked in.
# oneDNN with libgomp, and on Debian 12 Highway, fmt and spdlog (unless CMAKE_LIBRARY_PATH names archives of them) stay shared
# and are looked for in lib/ beside the executable and in ../lib/dptrain, and so is libstdc++, which oneDNN would bring anyway: two copies of it in one process do not go together.

if(DPTRAIN_KERNELS_ONLY)   # which want none of them
  return()
endif()
if(DPTRAIN_SANITIZE OR DPTRAIN_FUZZ)
  if(DPTRAIN_STATIC)
    message(FATAL_ERROR "DPTRAIN_STATIC goes with neither DPTRAIN_SANITIZE nor DPTRAIN_FUZZ: their run-time libraries are shared")
  endif()
  return()
endif()

# _dptrain_link_archive(<imported target> <name>...): the target stands for lib<name>.a and the archives that it needs
# in its turn. Without all of them it stays as it was found. What a shared library's headers want defined goes, but for
# libraries whose definitions say no more than how they were built.
function(_dptrain_link_archive target)
  set(archives "")
  foreach(name IN LISTS ARGN)
    find_library(DPTRAIN_ARCHIVE_${name} NAMES lib${name}.a PATH_SUFFIXES hdf5/serial)
    mark_as_advanced(DPTRAIN_ARCHIVE_${name})
    if(NOT DPTRAIN_ARCHIVE_${name})
      message(STATUS "No lib${name}.a here, ${target} stays shared")
      return()
    endif()
    list(APPEND archives ${DPTRAIN_ARCHIVE_${name}})
  endforeach()
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL "INTERFACE_LIBRARY")
    list(POP_FRONT archives archive)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${archive})
    foreach(configuration IN LISTS configurations)
      if(configuration)
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${archive})
      endif()
    endforeach()
  endif()
  if(NOT target STREQUAL "spdlog::spdlog")   # which names fmt
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives};${CMAKE_DL_LIBS};m")
  endif()
  if(NOT target MATCHES "^(fmt|spdlog|Highway)::")
    set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS)
  endif()
endfunction()

# Another distribution's archive may need more than ours does; then the library stays shared.
function(_dptrain_check_hdf5_archive)
  find_library(DPTRAIN_ARCHIVE_hdf5 NAMES libhdf5.a PATH_SUFFIXES hdf5/serial)
  find_library(DPTRAIN_ARCHIVE_sz NAMES libsz.a)
  find_library(DPTRAIN_ARCHIVE_aec NAMES libaec.a)
  find_library(DPTRAIN_ARCHIVE_z NAMES libz.a)
  get_target_property(CMAKE_REQUIRED_INCLUDES hdf5::hdf5 INTERFACE_INCLUDE_DIRECTORIES)
  set(CMAKE_REQUIRED_LIBRARIES ${DPTRAIN_ARCHIVE_hdf5} ${DPTRAIN_ARCHIVE_sz} ${DPTRAIN_ARCHIVE_aec} ${DPTRAIN_ARCHIVE_z}
                               ${CMAKE_DL_LIBS} m)
  check_cxx_source_compiles("#include <hdf5.h>\nint main() { return H5open() < 0 ? 1 : 0; }" DPTRAIN_HDF5_ARCHIVE_LINKS)
endfunction()
include(CheckCXXSourceCompiles)
_dptrain_check_hdf5_archive()
if(DPTRAIN_HDF5_ARCHIVE_LINKS)
  _dptrain_link_archive(hdf5::hdf5 hdf5 sz aec z)
endif()

if(NOT DPTRAIN_STATIC)
  return()
endif()

if(TARGET yaml-cpp)
  _dptrain_link_archive(yaml-cpp yaml-cpp)
else()
  _dptrain_link_archive(yaml-cpp::yaml-cpp yaml-cpp)
endif()
_dptrain_link_archive(ZLIB::ZLIB z)
_dptrain_link_archive(JPEG::JPEG jpeg)
_dptrain_link_archive(Highway::Highway hwy)
_dptrain_link_archive(fmt::fmt fmt)
_dptrain_link_archive(spdlog::spdlog spdlog)
if(TARGET benchmark::benchmark)
  _dptrain_link_archive(benchmark::benchmark benchmark)
endif()

# RPATH, which unlike RUNPATH also leads the shared libraries to what they need in their turn.
target_link_options(dptrain_flags INTERFACE LINKER:--disable-new-dtags LINKER:--gc-sections)
set(DPTRAIN_LINK_OPTIONS "" CACHE STRING "With DPTRAIN_STATIC: for the linker of our executable and modules, e.g. another C library (scripts/package/portable.bash)")
separate_arguments(_link_options UNIX_COMMAND "${DPTRAIN_LINK_OPTIONS}")
target_link_options(dptrain_flags INTERFACE ${_link_options})
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib:$ORIGIN/../lib/dptrain")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
