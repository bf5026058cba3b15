# Training as users run it.
add_test(NAME train/resume COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_train_resume.py $<TARGET_FILE:coke>)
set_tests_properties(train/resume PROPERTIES TIMEOUT 600 ENVIRONMENT "OMP_WAIT_POLICY=passive")

add_executable(train_driver ${CMAKE_CURRENT_LIST_DIR}/train_driver.c)
target_link_libraries(train_driver PRIVATE coke_objects)
add_test(NAME train/torch COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_torch_train.py $<TARGET_FILE:train_driver>)
set_tests_properties(train/torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_WAIT_POLICY=passive;OMP_NUM_THREADS=1")
