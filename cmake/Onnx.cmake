# The module that writes ONNX messages: lib/libdptrain_onnx.so in the build folder, which the executable opens when it
# writes the first .onnx file. The executable links neither ONNX nor protobuf, so it starts fast, also on machines
# without them.

function(dptrain_onnx_module)
  if(DPTRAIN_FUZZ)   # no fuzz target writes ONNX files
    return()
  endif()
  add_library(dptrain_module_onnx MODULE ${PROJECT_SOURCE_DIR}/src/formats/onnx/module/onnx_module.cpp)
  set_target_properties(dptrain_module_onnx PROPERTIES
    OUTPUT_NAME dptrain_onnx LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib CXX_VISIBILITY_PRESET hidden)
  target_include_directories(dptrain_module_onnx PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(dptrain_module_onnx PRIVATE dptrain_flags ONNX::proto)
  install(TARGETS dptrain_module_onnx LIBRARY DESTINATION lib/dptrain)   # searched by the executable, relative to bin/
endfunction()
