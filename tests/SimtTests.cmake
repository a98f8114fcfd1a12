# Tests of the emulator (tests/simt) and of the kernels for GPUs on it (tests/kernels_cuda): headers of kernels/cuda, in
# namespace dptrain::kernels::emu, and no room but core. Under ThreadSanitizer a missing barrier is a data race.

dptrain_tests(simt         LEVEL 0 LABELS threads LIBS dptrain_kernels_emu
              INPUTS $<TARGET_FILE:dptrain_barrier_right> $<TARGET_FILE:dptrain_barrier_wrong>)
dptrain_tests(kernels_cuda LEVEL 0 OPTIMIZE LABELS threads LIBS dptrain_kernels_emu)
foreach(test dptrain_test_simt dptrain_test_kernels_cuda)
  if(TARGET ${test})
    target_compile_definitions(${test} PRIVATE DPTRAIN_BACKEND=emu)
  endif()
endforeach()

if(TARGET dptrain_test_simt AND DPTRAIN_SANITIZE MATCHES "undefined")
  # Tests the check of dptrain_kernels_emu, and vector accesses in a kernel of its own.
  set_target_properties(dptrain_test_simt PROPERTIES DPTRAIN_ACCESS_CHECKS alignment)
  target_compile_definitions(dptrain_test_simt PRIVATE DPTRAIN_CHECKS_ALIGNMENT)
endif()

# One kernel with and without a barrier that it needs, run by dptrain_test_simt: ThreadSanitizer must tell them apart.
foreach(variant right wrong)
  set(program dptrain_barrier_${variant})
  add_executable(${program} simt/programs/barrier.cpp)
  target_compile_definitions(${program} PRIVATE DPTRAIN_BACKEND=emu $<$<STREQUAL:${variant},wrong>:DPTRAIN_PLANT_RACE>)
  target_link_libraries(${program} PRIVATE dptrain_kernels_emu)
  target_compile_definitions(dptrain_test_simt PRIVATE DPTRAIN_BARRIER_${variant}="$<TARGET_FILE:${program}>")
  add_dependencies(dptrain_test_simt ${program})
endforeach()

# The kernels' tests again, on a GPU; built on request and for dptrain_bundle (GpuBundle.cmake), which scripts/gpu runs.
if(DPTRAIN_HAVE_CUDA)
  file(GLOB sources CONFIGURE_DEPENDS kernels_cuda/*.cpp)
  if(sources)
    add_executable(dptrain_test_kernels_gpu EXCLUDE_FROM_ALL ${sources})
    set_target_properties(dptrain_test_kernels_gpu PROPERTIES UNITY_BUILD ${DPTRAIN_UNITY} UNITY_BUILD_BATCH_SIZE 16)
    target_include_directories(dptrain_test_kernels_gpu PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    target_compile_definitions(dptrain_test_kernels_gpu PRIVATE DPTRAIN_BACKEND=cuda)
    dptrain_link_modules(dptrain_test_kernels_gpu 0)
    target_link_libraries(dptrain_test_kernels_gpu PRIVATE dptrain_kernels_cuda dptrain_cuda dptrain_test_main dptrain_test_support GTest::gmock)
    set_target_properties(dptrain_test_kernels_gpu PROPERTIES LINKER_LANGUAGE CXX)
  endif()
endif()
