# Compiles configs/**/*.yaml into the executable for `dptrain init` (src/cli/bundled.h). Run with -P it is the script
# that writes the .cpp.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(_bundle_script ${CMAKE_CURRENT_LIST_FILE})
  function(dptrain_bundle_configs room)
    if(NOT TARGET dptrain_${room})
      return()
    endif()
    file(GLOB_RECURSE configs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/configs/*.yaml)
    set(output ${PROJECT_BINARY_DIR}/generated/bundled_configs.cpp)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_SOURCE_DIR}/configs "-DFILES=${configs}" -DOUTPUT=${output}
              -P ${_bundle_script}
      DEPENDS ${configs} ${_bundle_script}
      COMMENT "Bundling configs/" VERBATIM)
  endfunction()
  return()
endif()

set(text "// Written by the build from configs/ (cmake/BundledConfigs.cmake).
#include \"cli/bundled.h\"

namespace dptrain::cli {

const std::vector<BundledFile>& bundled_configs() {
  static const std::vector<BundledFile> files{
")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name ${FOLDER} ${file})
  file(READ ${file} content)
  string(APPEND text "      {\"${name}\", R\"yaml~(${content})yaml~\"},\n")
endforeach()
string(APPEND text "  };
  return files;
}

}  // namespace dptrain::cli
")
file(WRITE ${OUTPUT} "${text}")
