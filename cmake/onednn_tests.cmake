# onednn_tests.cmake - tests of how oneDNN is found, shared and, in a second version, used.
add_test(NAME tree/onednn
         COMMAND ${CMAKE_SOURCE_DIR}/tests/check_onednn_found.sh ${CMAKE_SOURCE_DIR})
set_tests_properties(tree/onednn PROPERTIES TIMEOUT 120)
if(TARGET coke)
  add_test(NAME tree/openmp
           COMMAND ${CMAKE_SOURCE_DIR}/tests/check_onednn_openmp.sh $<TARGET_FILE:coke>)
  set_tests_properties(tree/openmp PROPERTIES TIMEOUT 60 LABELS unit)
endif()

# What the run with another oneDNN builds: the tests of what calls it and the recordings.
get_property(programs DIRECTORY tests PROPERTY BUILDSYSTEM_TARGETS)
add_custom_target(nn_tests)
foreach(program ${programs})
  get_target_property(sources ${program} SOURCES)
  if(sources MATCHES "unit/nn/|nn_driver|kernels/test_gemm|golden_")
    add_dependencies(nn_tests ${program})
  endif()
endforeach()
if(NOT COKE_DEV AND TARGET golden_tests)
  add_test(NAME onednn3/nn
           COMMAND ${CMAKE_SOURCE_DIR}/tests/check_onednn3.sh ${CMAKE_SOURCE_DIR}
                   ${CMAKE_BINARY_DIR}/onednn3 ${OneDNN_VERSION})
  set_tests_properties(onednn3/nn PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL ON TIMEOUT 1200)
endif()
