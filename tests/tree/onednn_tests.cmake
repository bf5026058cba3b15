# onednn_tests.cmake - tests of how oneDNN is found, shared and, in a second version, used.
# Included after all test programs are declared.
set(here ${CMAKE_CURRENT_LIST_DIR})
coke_test(NAME tree/onednn TIMEOUT 120
  COMMAND ${here}/check_onednn_found.sh ${CMAKE_SOURCE_DIR})
coke_test(NAME tree/openmp TIMEOUT 60 LABELS unit
  COMMAND ${here}/check_onednn_openmp.sh $<TARGET_FILE:coke>)

# What the run with another oneDNN builds: the tests of what calls it and the recordings.
add_custom_target(nn_tests)
foreach(folder unit drivers golden)
  get_property(programs DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(program ${programs})
    get_target_property(sources ${program} SOURCES)
    if(sources MATCHES "unit/nn/|nn_driver|kernels/test_gemm|golden_")
      add_dependencies(nn_tests ${program})
    endif()
  endforeach()
endforeach()
if(NOT COKE_DEV)
  coke_test(NAME onednn3/nn SERIAL TIMEOUT 1200 COMMAND ${here}/check_onednn3.sh
    ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/onednn3 ${OneDNN_VERSION})
endif()
