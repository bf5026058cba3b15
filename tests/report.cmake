# Reports in a browser.
add_test(NAME report/browser COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_report_browser.py $<TARGET_FILE:coke> ${CMAKE_SOURCE_DIR}
  ${CMAKE_BINARY_DIR})
set_tests_properties(report/browser PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800
  ENVIRONMENT "OMP_WAIT_POLICY=passive")
