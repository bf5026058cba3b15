# Images: the codecs against Pillow.
add_executable(image_driver ${CMAKE_CURRENT_LIST_DIR}/image_driver.c)
target_link_libraries(image_driver PRIVATE coke_objects)
add_test(NAME image/pillow-codecs COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_pillow_codecs.py $<TARGET_FILE:image_driver>)
set_tests_properties(image/pillow-codecs PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
