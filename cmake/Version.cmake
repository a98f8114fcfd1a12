# Writes dptrain_version.h (version, built-in backends) and dptrain_commit.cpp (git commit) at every build, and changes
# the files only if their text changes. The commit is in a separate source outside the unity builds, so that a new
# commit recompiles only that source. With -P this file is the script that writes both.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_custom_target(dptrain_version
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
            -DBUILD=$<IF:$<CONFIG:>,none,$<CONFIG>> -DONEDNN=${OneDNN_VERSION}
            -DCUDA=${DPTRAIN_CUDA_STATE} -DSANITIZE=${DPTRAIN_SANITIZE}
            -DOUTPUT=${PROJECT_BINARY_DIR}/generated
            -P ${CMAKE_CURRENT_LIST_FILE}
    BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/dptrain_version.h ${PROJECT_BINARY_DIR}/generated/dptrain_commit.cpp
    COMMENT "Writing the version" VERBATIM)
  return()
endif()

set(commit "unknown")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
                  OUTPUT_VARIABLE found OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit ${found})
  endif()
endif()

# Writes a file unless it already has this text.
function(write_changed file text)
  set(present "")
  if(EXISTS ${file})
    file(READ ${file} present)
  endif()
  if(NOT present STREQUAL text)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

write_changed(${OUTPUT}/dptrain_version.h "// Written by the build (cmake/Version.cmake).
#pragma once

#include <string_view>

namespace dptrain {
inline constexpr std::string_view kVersion = \"${VERSION}\";
extern const std::string_view kGitCommit;
inline constexpr std::string_view kBuildType = \"${BUILD}\";
inline constexpr std::string_view kBuiltWithOneDnn = \"${ONEDNN}\";
inline constexpr std::string_view kBuiltWithCuda = \"${CUDA}\";
inline constexpr std::string_view kSanitizers = \"${SANITIZE}\";
}  // namespace dptrain
")

write_changed(${OUTPUT}/dptrain_commit.cpp "// Written by the build (cmake/Version.cmake).
#include \"dptrain_version.h\"

namespace dptrain {
constinit const std::string_view kGitCommit = \"${commit}\";
}  // namespace dptrain
")
