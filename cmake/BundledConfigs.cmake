# Compiles configs/**/*.yaml into the executable (src/config/bundled.h): the experiments for `dptrain init`, and the
# networks of configs/networks. With -P this file is the script that writes the .cpp.

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(_bundle_script ${CMAKE_CURRENT_LIST_FILE})
  function(dptrain_bundle_configs module)
    if(NOT TARGET dptrain_${module})
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

set(configs "")
set(networks "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name ${FOLDER} ${file})
  file(READ ${file} content)
  set(entry "      {\"${name}\", R\"yaml~(${content})yaml~\"},\n")
  if(name MATCHES "^networks/")
    string(APPEND networks "${entry}")
  else()
    string(APPEND configs "${entry}")
  endif()
endforeach()
set(text "// Written by the build from configs/ (cmake/BundledConfigs.cmake).
#include \"config/bundled.h\"

namespace dptrain::config {

const std::vector<BundledFile>& bundled_configs() {
  static const std::vector<BundledFile> files{
${configs}  };
  return files;
}

const std::vector<BundledFile>& bundled_networks() {
  static const std::vector<BundledFile> files{
${networks}  };
  return files;
}

}  // namespace dptrain::config
")
file(WRITE ${OUTPUT} "${text}")
