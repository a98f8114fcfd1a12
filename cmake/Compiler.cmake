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

# Many small sources spend most of their compilation in the same headers: the modules and tests are compiled several sources at
# a time. Names in unnamed namespaces are therefore unique within a folder.
option(DPTRAIN_UNITY "Compile several sources of a folder at a time; OFF compiles each by itself" ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 64)   # a module at once, but the largest; for the folders that name no other

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths below the source tree count as relative ones, so that another clone finds what this one compiled.
  set(DPTRAIN_CCACHE ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${DPTRAIN_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${DPTRAIN_CCACHE})
endif()

find_package(Threads REQUIRED)

add_library(dptrain_flags INTERFACE)
target_compile_options(dptrain_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# __FILE__, which every expectation of a test has, is the same in all clones, and the compiler cache finds what another made.
target_compile_options(dptrain_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(dptrain_flags INTERFACE -Wno-restrict)   # false alarms in std::string, GCC bug 105651
endif()
if(DPTRAIN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(dptrain_flags INTERFACE -Wno-subobject-linkage)   # takes every source for a header there
  # GCC collects garbage whenever its heap has doubled since 128 MB: a tenth of the time for sources of this size.
  target_compile_options(dptrain_flags INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:SHELL:--param\ ggc-min-heapsize=1048576>)
endif()
target_link_libraries(dptrain_flags INTERFACE Threads::Threads)
# What a library's own dependencies list (HDF5: curl, crypto) is loaded only if we call it: start-up time counts.
target_link_options(dptrain_flags INTERFACE -Wl,--as-needed)
# The tests are some twenty executables of the whole house: a linker that takes a tenth of the time is worth asking for.
# A compiler for another processor looks for linkers of its own.
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
    # Four checks at every access through a pointer take as long to compile as all the rest. AddressSanitizer sees what they
    # see, but for alignment: the modules that read foreign bytes have them (dptrain_check_every_access).
    target_compile_options(dptrain_flags INTERFACE
      -fno-sanitize-recover=undefined -fno-sanitize=alignment,null,object-size,vptr)
  endif()
  if(DPTRAIN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Checks as calls compile faster. The kernels have them inline, or their tests would take minutes.
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

# Gives a target the checks of UBSan that dptrain_flags leaves out.
function(dptrain_check_every_access target)
  if(DPTRAIN_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PRIVATE -fsanitize=alignment,null,object-size,vptr
      -fno-sanitize-recover=alignment,null,object-size,vptr)
  endif()
endfunction()
