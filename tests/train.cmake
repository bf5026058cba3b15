# Training as users run it.
add_test(NAME train/resume COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_train_resume.py $<TARGET_FILE:coke>)
set_tests_properties(train/resume PROPERTIES TIMEOUT 600 ENVIRONMENT "OMP_WAIT_POLICY=passive")

add_test(NAME train/warnings COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_train_warnings.py $<TARGET_FILE:coke>)
set_tests_properties(train/warnings PROPERTIES TIMEOUT 300 ENVIRONMENT "OMP_WAIT_POLICY=passive")

# A reduced demo learns; the whole one, and more kills, only with `make check-long`.
set(learns ${TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/py/test_train_learns.py $<TARGET_FILE:coke>
  $<TARGET_FILE:data_driver>)
add_test(NAME train/learns COMMAND ${learns} short)
add_test(NAME long/learns CONFIGURATIONS long COMMAND ${learns} long)
add_test(NAME long/resume CONFIGURATIONS long COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_train_resume.py $<TARGET_FILE:coke> 200)
set_tests_properties(long/learns long/resume PROPERTIES LABELS long)
set_tests_properties(train/learns long/learns long/resume PROPERTIES TIMEOUT 3600 SKIP_RETURN_CODE 77
  ENVIRONMENT "OMP_WAIT_POLICY=passive")

add_executable(train_driver ${CMAKE_CURRENT_LIST_DIR}/train_driver.c)
target_link_libraries(train_driver PRIVATE coke_objects)
add_test(NAME train/torch COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_torch_train.py $<TARGET_FILE:train_driver>)
set_tests_properties(train/torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_WAIT_POLICY=passive;OMP_NUM_THREADS=1")
