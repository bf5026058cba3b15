# Tests of the program as users meet it, and of the tree and library it comes with.
file(GLOB CLI_TESTS CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cli/*.sh")
foreach(script ${CLI_TESTS})
  get_filename_component(name ${script} NAME_WE)
  add_test(NAME cli/${name}
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cli/run ${CMAKE_BINARY_DIR} ${script})
  set_tests_properties(cli/${name} PROPERTIES LABELS cli SKIP_RETURN_CODE 77 TIMEOUT 120)
endforeach()

add_test(NAME tree/layers
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_layers.sh ${CMAKE_SOURCE_DIR})
if(NOT COKE_DEV) # sanitizers add symbols, and a program that links the library would need them
  add_test(NAME tree/symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_symbols.sh
           $<TARGET_FILE:coke_shared> ${CMAKE_SOURCE_DIR}/include/coke.h)
  add_test(NAME tree/install COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_install.sh
           ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  set_tests_properties(tree/symbols tree/install PROPERTIES TIMEOUT 120)
endif()

# Only with `make check-long`.
add_test(NAME long/file CONFIGURATIONS long
         COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/check_long_file.sh ${CMAKE_BINARY_DIR})
set_tests_properties(long/file PROPERTIES LABELS long SKIP_RETURN_CODE 77 TIMEOUT 3600)

# What the documentation shows is run as it stands.
add_test(NAME docs/commands COMMAND ${TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/py/test_readme.py
  $<TARGET_FILE:coke> ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/docs/tutorial.md
  ${CMAKE_SOURCE_DIR}/docs/training.md)
set_tests_properties(docs/commands PROPERTIES TIMEOUT 900 SKIP_RETURN_CODE 77
  ENVIRONMENT "OMP_WAIT_POLICY=passive;OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
