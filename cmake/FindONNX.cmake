# Finds ONNX's message types (libonnx-dev, libprotobuf-dev) as ONNX::proto, for the module that writes .onnx files, and
# its checker as ONNX::checker, for the tests. Debian's CMake files refer to libraries that no package contains.

find_path(ONNX_INCLUDE_DIR onnx/onnx-ml.pb.h)
find_path(ONNX_PROTOBUF_INCLUDE_DIR google/protobuf/message.h)
find_library(ONNX_PROTO_LIBRARY onnx_proto)
find_library(ONNX_LIBRARY onnx)
find_library(ONNX_PROTOBUF_LIBRARY protobuf)
mark_as_advanced(ONNX_INCLUDE_DIR ONNX_PROTOBUF_INCLUDE_DIR ONNX_PROTO_LIBRARY ONNX_LIBRARY ONNX_PROTOBUF_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ONNX
  REQUIRED_VARS ONNX_INCLUDE_DIR ONNX_PROTOBUF_INCLUDE_DIR ONNX_PROTO_LIBRARY ONNX_LIBRARY ONNX_PROTOBUF_LIBRARY
  REASON_FAILURE_MESSAGE "install libonnx-dev, libprotobuf-dev and protobuf-compiler (scripts/install_deps.sh product)")

if(ONNX_FOUND AND NOT TARGET ONNX::proto)
  add_library(ONNX::proto INTERFACE IMPORTED)
  target_include_directories(ONNX::proto SYSTEM INTERFACE ${ONNX_INCLUDE_DIR} ${ONNX_PROTOBUF_INCLUDE_DIR})
  target_compile_definitions(ONNX::proto INTERFACE ONNX_ML=1 ONNX_NAMESPACE=onnx)
  target_link_libraries(ONNX::proto INTERFACE ${ONNX_PROTO_LIBRARY} ${ONNX_PROTOBUF_LIBRARY})
  add_library(ONNX::checker INTERFACE IMPORTED)
  target_link_libraries(ONNX::checker INTERFACE ${ONNX_LIBRARY} ONNX::proto)
endif()
