# The module that writes ONNX's messages: a small library, lib/libdptrain_onnx.so below the build folder, that the executable
# opens when it writes the first .onnx file. The executable itself links neither ONNX nor protobuf: it starts as quickly as without
# them, and on machines that do not have them.

function(dptrain_onnx_module)
  if(DPTRAIN_FUZZ)   # writes no such files
    return()
  endif()
  add_library(dptrain_module_onnx MODULE ${PROJECT_SOURCE_DIR}/src/formats/onnx/module/onnx_module.cpp)
  set_target_properties(dptrain_module_onnx PROPERTIES
    OUTPUT_NAME dptrain_onnx LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
  target_include_directories(dptrain_module_onnx PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(dptrain_module_onnx PRIVATE dptrain_flags ONNX::proto)
  install(TARGETS dptrain_module_onnx LIBRARY DESTINATION lib/dptrain)   # where the executable looks, beside its bin/
endfunction()
