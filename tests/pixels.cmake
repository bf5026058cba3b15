# Pixel operations against Pillow and torchvision.
add_executable(pixels_driver ${CMAKE_CURRENT_LIST_DIR}/pixels_driver.c)
target_link_libraries(pixels_driver PRIVATE coke_objects)
add_test(NAME image/pillow-pixels COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_pillow_pixels.py $<TARGET_FILE:pixels_driver>)
set_tests_properties(image/pillow-pixels PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
