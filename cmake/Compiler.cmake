# How our code is compiled. Everything here goes through the interface target dptrain_flags,
# so that third-party code and including projects are left alone.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The kernels choose their instruction set at run time, so one binary serves every machine: no -march here.
set(CMAKE_CXX_FLAGS_RELEASE "-O2" CACHE STRING "" FORCE)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

find_package(Threads REQUIRED)

add_library(dptrain_flags INTERFACE)
target_compile_options(dptrain_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(dptrain_flags INTERFACE -Wno-restrict)   # false alarms in std::string, GCC bug 105651
endif()
target_link_libraries(dptrain_flags INTERFACE Threads::Threads)
# What a library's own dependencies list (HDF5: curl, crypto) is loaded only if we call it: start-up time counts.
target_link_options(dptrain_flags INTERFACE -Wl,--as-needed)

if(DPTRAIN_SANITIZE)
  target_compile_options(dptrain_flags INTERFACE -fsanitize=${DPTRAIN_SANITIZE} -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's manual: sanitizers raise the rate of these false alarms. Here they come from within <regex>.
    target_compile_options(dptrain_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(dptrain_flags INTERFACE -fsanitize=${DPTRAIN_SANITIZE})
  if(DPTRAIN_SANITIZE MATCHES "undefined")
    target_compile_options(dptrain_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

if(DPTRAIN_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "DPTRAIN_FUZZ needs clang (libFuzzer), found ${CMAKE_CXX_COMPILER_ID}; "
                        "configure with the preset 'fuzz' or -DCMAKE_CXX_COMPILER=clang++")
  endif()
  target_compile_options(dptrain_flags INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
endif()
