# Data sets against the programs that write them.
add_executable(dataset_driver ${CMAKE_CURRENT_LIST_DIR}/dataset_driver.c)
target_link_libraries(dataset_driver PRIVATE coke_objects)
add_test(NAME data/tar-formats COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_tar_formats.py $<TARGET_FILE:dataset_driver>)
set_tests_properties(data/tar-formats PROPERTIES TIMEOUT 120)
