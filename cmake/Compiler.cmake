# Compiler settings. They are properties of the interface target dptrain_flags, so that third-party code and including
# projects are unaffected.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The kernels choose their instruction set at run time, so one binary runs on every machine: no -march here.
set(CMAKE_CXX_FLAGS_RELEASE "-O2" CACHE STRING "" FORCE)

# Unity builds compile several sources of a folder together, because small sources spend most of their compilation in
# the same headers. Names in unnamed namespaces must therefore be unique within a folder.
option(DPTRAIN_UNITY "Compile several sources of a folder at a time; OFF compiles each by itself" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 64)   # a whole module, except the largest ones; default of folders

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths in the source tree are hashed as relative paths, so that clones share cache entries.
  set(DPTRAIN_CCACHE ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${DPTRAIN_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DPTRAIN_CCACHE})
endif()

find_package(Threads REQUIRED)

add_library(dptrain_flags INTERFACE)
target_compile_options(dptrain_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# Makes __FILE__, which every test expectation contains, equal in all clones, so that they share cache entries.
target_compile_options(dptrain_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(dptrain_flags INTERFACE -Wno-restrict)   # false alarms in std::string, GCC bug 105651
endif()
if(DPTRAIN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(dptrain_flags INTERFACE -Wno-subobject-linkage)   # GCC treats the sources of a unity build as headers
  # GCC collects garbage whenever its heap has doubled since 128 MB: a tenth of the time for sources of this size.
  target_compile_options(dptrain_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:SHELL:--param\ ggc-min-heapsize=1048576>)
endif()
target_link_libraries(dptrain_flags INTERFACE Threads::Threads)
# Loads dependencies of libraries (HDF5: curl, crypto) only if dptrain calls them, for a fast start.
target_link_options(dptrain_flags INTERFACE -Wl,--as-needed)
# mold and lld need a tenth of the time to link the twenty test executables, which contain all modules. Cross compilers
# use their own linker.
if(DPTRAIN_TESTS AND NOT DPTRAIN_STATIC AND NOT CMAKE_CROSSCOMPILING)
  foreach(linker mold lld)
    find_program(DPTRAIN_${linker} NAMES ${linker} ld.${linker})
    mark_as_advanced(DPTRAIN_${linker})
    if(DPTRAIN_${linker})
      target_link_options(dptrain_flags INTERFACE -fuse-ld=${linker})
      break()
    endif()
  endforeach()
endif()

if(DPTRAIN_SANITIZE)
  target_compile_options(dptrain_flags INTERFACE -fsanitize=${DPTRAIN_SANITIZE} -fno-omit-frame-pointer)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's manual: sanitizers raise the rate of these false alarms. Here they come from within <regex>.
    target_compile_options(dptrain_flags INTERFACE -Wno-maybe-uninitialized)
  endif()
  target_link_options(dptrain_flags INTERFACE -fsanitize=${DPTRAIN_SANITIZE})
  if(DPTRAIN_SANITIZE MATCHES "undefined")
    # Four checks per pointer access double the compile time. Except for alignment, AddressSanitizer finds the same
    # errors. A target's property DPTRAIN_ACCESS_CHECKS enables some of them. Later options override earlier ones, and
    # those of dptrain_flags follow those of the target.
    set(checks $<TARGET_PROPERTY:DPTRAIN_ACCESS_CHECKS>)
    target_compile_options(dptrain_flags INTERFACE
      -fno-sanitize-recover=undefined -fno-sanitize=alignment,null,object-size,vptr $<$<BOOL:${checks}>:-fsanitize=${checks}>)
  endif()
  if(DPTRAIN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks as function calls compile faster. The kernels use inline checks, because their tests would take minutes.
    target_compile_options(dptrain_flags INTERFACE
      "SHELL:--param asan-instrumentation-with-call-threshold=$<IF:$<STREQUAL:$<TARGET_PROPERTY:NAME>,dptrain_kernels_cpu>,7000,0>")
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
