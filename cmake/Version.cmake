# dptrain_version.h: version, git commit and what is built in. Written at every build, touched only when it changes,
# so that a commit recompiles the one file that prints it. Run with -P it is the script that writes the header.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  add_custom_target(dptrain_version
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
            -DBUILD=$<IF:$<CONFIG:>,none,$<CONFIG>> -DONEDNN=${OneDNN_VERSION}
            -DCUDA=${DPTRAIN_CUDA_STATE} -DSANITIZE=${DPTRAIN_SANITIZE}
            -DOUTPUT=${PROJECT_BINARY_DIR}/generated/dptrain_version.h
            -P ${CMAKE_CURRENT_LIST_FILE}
    BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/dptrain_version.h
    COMMENT "Writing dptrain_version.h" VERBATIM)
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

set(text "// Written by the build (cmake/Version.cmake).
#pragma once

#include <string_view>

namespace dptrain {
inline constexpr std::string_view kVersion = \"${VERSION}\";
inline constexpr std::string_view kGitCommit = \"${commit}\";
inline constexpr std::string_view kBuildType = \"${BUILD}\";
inline constexpr std::string_view kBuiltWithOneDnn = \"${ONEDNN}\";
inline constexpr std::string_view kBuiltWithCuda = \"${CUDA}\";
inline constexpr std::string_view kSanitizers = \"${SANITIZE}\";
}  // namespace dptrain
")
set(present "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} present)
endif()
if(NOT present STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
