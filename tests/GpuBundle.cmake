# dptrain_bundle, for scripts/gpu/pack.sh: dptrain, the tests that have to do with GPUs and the plan check as one executable
# (gpu_bundle/main.cpp). The bundle has to be small, and each executable of its own would carry the whole house.

if(NOT DPTRAIN_STATIC OR NOT TARGET dptrain)
  return()
endif()

set(folders backend runtime distributed)
set(plan_check gpu_bundle/plan_check_none.cpp)
set(kernel_tests kernels_cuda)   # on the emulator
if(DPTRAIN_HAVE_CUDA)
  list(APPEND folders cuda)
  set(plan_check gpu_bundle/plan_check_cuda.cpp)
  set(kernel_tests kernels_gpu)
endif()
set(tests "")
foreach(folder IN LISTS folders kernel_tests)
  list(APPEND tests $<TARGET_OBJECTS:dptrain_test_${folder}>)   # as the test suite has them
endforeach()

add_executable(dptrain_bundle EXCLUDE_FROM_ALL
  gpu_bundle/main.cpp gpu_bundle/dptrain_main.cpp ${plan_check} ${tests})
target_include_directories(dptrain_bundle PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(dptrain_bundle PRIVATE DPTRAIN_CUDA_STUB="libcuda.so")
dptrain_link_modules(dptrain_bundle 13)
if(DPTRAIN_MPI_MODULES)
  add_dependencies(dptrain_bundle ${DPTRAIN_MPI_MODULES})   # pack.sh copies them
endif()
target_link_libraries(dptrain_bundle PRIVATE dptrain_test_support GTest::gtest GTest::gmock CLI11::CLI11 nlohmann_json::nlohmann_json)
