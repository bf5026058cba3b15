# The built-in images: hard for statistics of pixels.
add_executable(data_driver ${CMAKE_CURRENT_LIST_DIR}/data_driver.c)
target_link_libraries(data_driver PRIVATE coke_objects)
add_test(NAME data/synthetic-images-hardness COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_synthetic_images.py $<TARGET_FILE:data_driver>)
set_tests_properties(data/synthetic-images-hardness PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_NUM_THREADS=1;OPENBLAS_NUM_THREADS=1;OMP_WAIT_POLICY=passive")
