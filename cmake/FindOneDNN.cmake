# Finds oneDNN 2.6 or 3.x by header and library because its own CMake files are unusable: Debian's require
# OpenCL, and those of the PyPI wheels (onednn-devel-cpu-gomp) contain paths of the build machine.
#
#   DPTRAIN_ONEDNN_ROOT or DNNL_ROOT   where to look first, e.g. the root of a virtual environment
#   OneDNN::OneDNN                     the target; OneDNN_VERSION its version
#
# The library must use GNU OpenMP, which src/backend/cpu/gomp.cpp replaces. Another runtime would start its own threads.

set(_onednn_hints ${DPTRAIN_ONEDNN_ROOT} ${DNNL_ROOT} $ENV{DNNL_ROOT})
if(_onednn_hints)
  # If the user names a root, no other folder is searched.
  set(_onednn_only NO_DEFAULT_PATH)
endif()
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp
          HINTS ${_onednn_hints} PATH_SUFFIXES include ${_onednn_only})
find_library(OneDNN_LIBRARY NAMES dnnl libdnnl.so.3 libdnnl.so.2
             HINTS ${_onednn_hints} PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE} ${_onednn_only})
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)

if(OneDNN_INCLUDE_DIR AND EXISTS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h)
  file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h _onednn_lines
       REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
  string(REGEX MATCHALL "[0-9]+" _onednn_numbers "${_onednn_lines}")
  list(JOIN _onednn_numbers "." OneDNN_VERSION)
endif()

if(OneDNN_LIBRARY)
  file(STRINGS ${OneDNN_LIBRARY} _onednn_gomp REGEX "GOMP_parallel" LIMIT_COUNT 1)
  if(NOT _onednn_gomp)
    message(FATAL_ERROR "${OneDNN_LIBRARY} does not use GNU OpenMP; name another root with DPTRAIN_ONEDNN_ROOT")
  endif()
  # All other calls would use libgomp itself, a second runtime with its own threads.
  set(_onednn_ours GOMP_parallel GOMP_barrier omp_get_max_threads omp_get_num_threads omp_get_thread_num omp_in_parallel)
  cmake_path(GET OneDNN_LIBRARY EXTENSION LAST_ONLY _onednn_suffix)
  set(_onednn_dynamic -D)
  if(_onednn_suffix STREQUAL ".a")
    set(_onednn_dynamic)
  endif()
  if(CMAKE_NM)
    execute_process(COMMAND ${CMAKE_NM} ${_onednn_dynamic} --undefined-only ${OneDNN_LIBRARY}
                    OUTPUT_VARIABLE _onednn_calls ERROR_QUIET)
    string(REGEX MATCHALL " U (GOMP|omp)_[A-Za-z0-9_]+" _onednn_calls "${_onednn_calls}")
    list(TRANSFORM _onednn_calls REPLACE " U " "")
    list(REMOVE_DUPLICATES _onednn_calls)
    list(REMOVE_ITEM _onednn_calls ${_onednn_ours})
    if(_onednn_calls)
      message(FATAL_ERROR "${OneDNN_LIBRARY} calls ${_onednn_calls} of libgomp, which src/backend/cpu/gomp.cpp does not define; "
                          "add it there, or name another library with DPTRAIN_ONEDNN_ROOT")
    endif()
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
                                  VERSION_VAR OneDNN_VERSION)

if(OneDNN_FOUND AND NOT TARGET OneDNN::OneDNN)
  add_library(OneDNN::OneDNN UNKNOWN IMPORTED)
  set_target_properties(OneDNN::OneDNN PROPERTIES
    IMPORTED_LOCATION ${OneDNN_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${OneDNN_INCLUDE_DIR})
endif()
