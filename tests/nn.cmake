# The network engine: what several of its tests share, and weights to and from PyTorch.
foreach(program test_layer_cases test_layer_batch_norm test_plan test_bf16)
  target_sources(${program} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/unit/nn/layer_cases.c
                                    ${CMAKE_CURRENT_LIST_DIR}/unit/nn/naive_net.c)
endforeach()

add_executable(nn_driver ${CMAKE_CURRENT_LIST_DIR}/nn_driver.c)
target_link_libraries(nn_driver PRIVATE coke_objects)
add_test(NAME nn/torch-weights COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_LIST_DIR}/py/test_torch_weights.py $<TARGET_FILE:nn_driver>)
set_tests_properties(nn/torch-weights PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_WAIT_POLICY=passive")
