# coke_test.cmake - the function that declares every test.
#
# coke_test(NAME folder/name COMMAND program argument...
#           [LABELS label...] [TIMEOUT seconds] [ENV NAME=value...] [PROCESSORS n]
#           [DIRECTORY folder] [LONG] [SERIAL])
#
# LONG: only in `make check-long`, with the label `long`. SERIAL: no other test runs beside it.
# Exit code 77 means for every test: this machine lacks what the test needs (skipped).
# OpenMP threads that wait by spinning would starve the other tests on a busy machine.
function(coke_test)
  cmake_parse_arguments(TEST "LONG;SERIAL" "NAME;TIMEOUT;PROCESSORS;DIRECTORY"
                        "COMMAND;LABELS;ENV" ${ARGN})
  if(TEST_UNPARSED_ARGUMENTS OR NOT TEST_NAME OR NOT TEST_COMMAND)
    message(FATAL_ERROR "coke_test ${TEST_NAME}: wrong arguments '${TEST_UNPARSED_ARGUMENTS}'")
  endif()
  set(when)
  if(TEST_LONG)
    set(when CONFIGURATIONS long)
    list(APPEND TEST_LABELS long)
  endif()
  if(NOT TEST_TIMEOUT)
    set(TEST_TIMEOUT 300)
  endif()
  add_test(NAME ${TEST_NAME} ${when} COMMAND ${TEST_COMMAND})
  # Those that may take long start first, so that none runs alone at the end.
  set_tests_properties(${TEST_NAME} PROPERTIES TIMEOUT ${TEST_TIMEOUT} COST ${TEST_TIMEOUT}
    SKIP_RETURN_CODE 77 ENVIRONMENT "OMP_WAIT_POLICY=passive;${TEST_ENV}")
  if(TEST_LABELS)
    set_tests_properties(${TEST_NAME} PROPERTIES LABELS "${TEST_LABELS}")
  endif()
  if(TEST_PROCESSORS)
    set_tests_properties(${TEST_NAME} PROPERTIES PROCESSORS ${TEST_PROCESSORS})
  endif()
  if(TEST_DIRECTORY)
    set_tests_properties(${TEST_NAME} PROPERTIES WORKING_DIRECTORY "${TEST_DIRECTORY}")
  endif()
  if(TEST_SERIAL)
    set_tests_properties(${TEST_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()
