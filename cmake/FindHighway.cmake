# Finds Highway (libhwy-dev) as Highway::Highway, with or without its CMake files.

find_path(Highway_INCLUDE_DIR hwy/highway.h)
find_library(Highway_LIBRARY NAMES hwy)
mark_as_advanced(Highway_INCLUDE_DIR Highway_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Highway REQUIRED_VARS Highway_LIBRARY Highway_INCLUDE_DIR)

if(Highway_FOUND AND NOT TARGET Highway::Highway)
  add_library(Highway::Highway UNKNOWN IMPORTED)
  set_target_properties(Highway::Highway PROPERTIES
    IMPORTED_LOCATION ${Highway_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${Highway_INCLUDE_DIR})
  if(Highway_LIBRARY MATCHES "\\.so")
    set_target_properties(Highway::Highway PROPERTIES INTERFACE_COMPILE_DEFINITIONS HWY_SHARED_DEFINE)
  endif()
endif()
