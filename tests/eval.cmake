# Evaluation: measures and k-NN against numpy, scipy and, where installed, scikit-learn.
add_executable(eval_driver ${CMAKE_CURRENT_LIST_DIR}/eval_driver.c)
target_link_libraries(eval_driver PRIVATE coke_objects)
add_test(NAME eval/metrics COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_eval_metrics.py $<TARGET_FILE:eval_driver>)
set_tests_properties(eval/metrics PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_WAIT_POLICY=passive")
add_test(NAME eval/probe-torch COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_eval_probe.py $<TARGET_FILE:eval_driver>)
add_test(NAME eval/embed-torch COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_torch_embed.py $<TARGET_FILE:coke>)
set_tests_properties(eval/probe-torch eval/embed-torch PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_WAIT_POLICY=passive")
foreach(name agreement knn probe finetune)
  set_property(TEST eval/${name} APPEND PROPERTY ENVIRONMENT "OMP_WAIT_POLICY=passive")
endforeach()
# k-NN once more on the reference kernels, whose panels are narrow.
add_test(NAME eval/knn-ref COMMAND test_knn)
set_tests_properties(eval/knn-ref PROPERTIES TIMEOUT 300 LABELS unit
  ENVIRONMENT "OMP_WAIT_POLICY=passive;COKE_ISA=ref")
