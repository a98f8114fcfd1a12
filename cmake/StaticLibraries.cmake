# Links HDF5 statically if the distribution has an archive of it. The shared library loads some forty others (for remote
# files), a third of the time and memory of a start. Sanitizer builds link the shared library.
#
# DPTRAIN_STATIC builds executables for machines without the packages of our libraries (scripts/gpu/pack.sh,
# scripts/package.sh tar). Libraries of cmake/ThirdParty.cmake are linked statically if they have an archive. oneDNN,
# libgomp and libstdc++ stay shared, as do Highway, fmt and spdlog on Debian 12 unless CMAKE_LIBRARY_PATH contains
# archives. The executable searches for them in lib/ next to it and in ../lib/dptrain. libstdc++ is shared because
# oneDNN loads it, and two copies in one process conflict.

if(DPTRAIN_KERNELS_ONLY)   # the kernels use none of these libraries
  return()
endif()
if(DPTRAIN_SANITIZE OR DPTRAIN_FUZZ)
  if(DPTRAIN_STATIC)
    message(FATAL_ERROR "DPTRAIN_STATIC cannot be combined with DPTRAIN_SANITIZE or DPTRAIN_FUZZ: their run-time libraries are shared")
  endif()
  return()
endif()

# _dptrain_link_archive(<imported target> <name>...): replaces the target's library by lib<name>.a and the archives that
# it needs. Leaves the target unchanged unless all of them exist. Removes compile definitions for a shared library,
# except for libraries whose definitions only describe how they were built.
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
  if(NOT target STREQUAL "spdlog::spdlog")   # links fmt
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives};${CMAKE_DL_LIBS};m")
  endif()
  if(NOT target MATCHES "^(fmt|spdlog|Highway)::")
    set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS)
  endif()
endfunction()

# Archives of other distributions may need more libraries; HDF5 then stays shared.
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
_dptrain_link_archive(PNG::PNG png16 z)
_dptrain_link_archive(Highway::Highway hwy)
_dptrain_link_archive(fmt::fmt fmt)
_dptrain_link_archive(spdlog::spdlog spdlog)
if(TARGET benchmark::benchmark)
  _dptrain_link_archive(benchmark::benchmark benchmark)
endif()

# RPATH, because unlike RUNPATH it also applies to dependencies of shared libraries.
target_link_options(dptrain_flags INTERFACE LINKER:--disable-new-dtags LINKER:--gc-sections)
set(DPTRAIN_LINK_OPTIONS "" CACHE STRING "With DPTRAIN_STATIC: for the linker of our executable and modules, e.g. another C library (scripts/package/portable.bash)")
separate_arguments(_link_options UNIX_COMMAND "${DPTRAIN_LINK_OPTIONS}")
target_link_options(dptrain_flags INTERFACE ${_link_options})
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib:$ORIGIN/../lib/dptrain")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
