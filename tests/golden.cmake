# Golden tests: recordings of the authors' implementation, replayed on every instruction set
# (a CPU without one skips it). COKE_GOLDEN names another folder of recordings.
add_executable(golden_tests golden_main.c golden_data.c golden_trace.c golden_table.c golden_loss.c
               golden_optim.c golden_net.c golden_metrics.c)
target_compile_definitions(golden_tests PRIVATE
  GOLDEN_DEFAULT="${CMAKE_CURRENT_SOURCE_DIR}/golden")
target_include_directories(golden_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(golden_tests PRIVATE coke_objects PkgConfig::CMOCKA PkgConfig::JANSSON)
foreach(isa ref avx2 avx512 vnni)
  foreach(kind traces losses)
    add_test(NAME golden/${kind}-${isa} COMMAND golden_tests ${kind} ${isa})
    # Threads that spin starve each other on a busy machine.
    set_tests_properties(golden/${kind}-${isa} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
      ENVIRONMENT "OMP_WAIT_POLICY=passive")
  endforeach()
endforeach()
foreach(kind tables optim nets metrics comparator)
  add_test(NAME golden/${kind} COMMAND golden_tests ${kind})
  set_tests_properties(golden/${kind} PROPERTIES TIMEOUT 300 ENVIRONMENT "OMP_WAIT_POLICY=passive")
endforeach()

# Losses and optimisers against PyTorch, where it is installed: it records, golden_tests replays.
add_test(NAME nn/torch-loss COMMAND ${TEST_PYTHON}
  ${CMAKE_CURRENT_SOURCE_DIR}/py/test_torch_loss.py $<TARGET_FILE:golden_tests>)
set_tests_properties(nn/torch-loss PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
  ENVIRONMENT "OMP_WAIT_POLICY=passive")

# The engine's unit tests share support.c; threads that spin would starve each other on a busy
# machine.
foreach(module core kernels cluster nn data api)
  file(GLOB ENGINE_TESTS CONFIGURE_DEPENDS
    "${CMAKE_CURRENT_SOURCE_DIR}/unit/${module}/test_*.c")
  foreach(source ${ENGINE_TESTS})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE "test_" "" short ${name})
    target_sources(${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/support.c)
    set_property(TEST ${module}/${short} APPEND PROPERTY ENVIRONMENT "OMP_WAIT_POLICY=passive")
  endforeach()
endforeach()

# The whole program against a linear programme, where scipy is installed.
if(TARGET coke)
  add_test(NAME cluster/exact-lp COMMAND ${TEST_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/py/test_exact.py
    $<TARGET_FILE:coke>)
  set_tests_properties(cluster/exact-lp PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300
    ENVIRONMENT "OMP_WAIT_POLICY=passive")
endif()

# The engine once more on the reference kernels, whose panels are narrow and which never screen.
foreach(short kmeans)
  add_test(NAME cluster/${short}-ref COMMAND test_${short})
  set_tests_properties(cluster/${short}-ref PROPERTIES TIMEOUT 300 LABELS unit
    ENVIRONMENT "OMP_WAIT_POLICY=passive;COKE_ISA=ref")
endforeach()
