# Views against torchvision.
add_executable(views_driver ${CMAKE_CURRENT_LIST_DIR}/views_driver.c)
target_link_libraries(views_driver PRIVATE coke_objects)
add_test(NAME data/torch-views COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_torch_views.py $<TARGET_FILE:views_driver>)
set_tests_properties(data/torch-views PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_NUM_THREADS=1")
