# DPTRAIN_STATIC: executables for machines without the packages of our libraries (scripts/gpu/pack.sh). Where the
# distribution has an archive of a library of cmake/ThirdParty.cmake, it is linked in; HDF5's saves some forty libraries.
# oneDNN with libgomp, and on Debian 12 Highway, fmt and spdlog stay shared and are looked for in lib/ beside the executable,
# and so is libstdc++, which oneDNN would bring anyway: two copies of it in one process do not go together.

if(NOT DPTRAIN_STATIC)
  return()
endif()
if(DPTRAIN_SANITIZE OR DPTRAIN_FUZZ)
  message(FATAL_ERROR "DPTRAIN_STATIC goes with neither DPTRAIN_SANITIZE nor DPTRAIN_FUZZ: their run-time libraries are shared")
endif()

# _dptrain_link_archive(<imported target> <name>...): the target stands for lib<name>.a and the archives that it needs
# in its turn. Without all of them it stays as it was found.
function(_dptrain_link_archive target)
  set(archives "")
  foreach(name IN LISTS ARGN)
    find_library(DPTRAIN_ARCHIVE_${name} NAMES lib${name}.a PATH_SUFFIXES hdf5/serial)
    mark_as_advanced(DPTRAIN_ARCHIVE_${name})
    if(NOT DPTRAIN_ARCHIVE_${name})
      message(STATUS "DPTRAIN_STATIC: no lib${name}.a here, ${target} stays shared")
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
  set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${archives};${CMAKE_DL_LIBS};m")
  set_property(TARGET ${target} PROPERTY INTERFACE_COMPILE_DEFINITIONS)   # what a shared library's headers want
endfunction()

if(TARGET yaml-cpp)
  _dptrain_link_archive(yaml-cpp yaml-cpp)
else()
  _dptrain_link_archive(yaml-cpp::yaml-cpp yaml-cpp)
endif()
_dptrain_link_archive(ZLIB::ZLIB z)
_dptrain_link_archive(JPEG::JPEG jpeg)
_dptrain_link_archive(hdf5::hdf5 hdf5 sz aec z)
_dptrain_link_archive(Highway::Highway hwy)
if(TARGET benchmark::benchmark)
  _dptrain_link_archive(benchmark::benchmark benchmark)
endif()

# RPATH, which unlike RUNPATH also leads the shared libraries to what they need in their turn.
target_link_options(dptrain_flags INTERFACE LINKER:--disable-new-dtags LINKER:--gc-sections)
set(CMAKE_INSTALL_RPATH "$ORIGIN/lib")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
