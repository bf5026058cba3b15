# Files for and from other programs, checked with those programs: PyTorch of the system; onnx,
# onnxruntime and safetensors from PyPI.
add_executable(export_driver ${CMAKE_CURRENT_LIST_DIR}/export_driver.c)
target_link_libraries(export_driver PRIVATE coke_objects)
add_test(NAME export/torch COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_torch_export.py $<TARGET_FILE:coke> $<TARGET_FILE:nn_driver>
  $<TARGET_FILE:export_driver> ${CMAKE_SOURCE_DIR}/docs/export.md)
add_test(NAME export/onnx COMMAND ${CMAKE_CURRENT_LIST_DIR}/with_python.sh
  ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/python
  ${CMAKE_CURRENT_LIST_DIR}/py/test_onnx_export.py $<TARGET_FILE:coke> $<TARGET_FILE:nn_driver>
  $<TARGET_FILE:export_driver> ${CMAKE_SOURCE_DIR}/docs/export.md)
set_tests_properties(export/torch export/onnx PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 600
  ENVIRONMENT "OMP_WAIT_POLICY=passive")
