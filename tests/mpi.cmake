# Several processes, started as users start them.
add_executable(comm_driver ${CMAKE_CURRENT_LIST_DIR}/comm_driver.c)
target_link_libraries(comm_driver PRIVATE coke_objects)
add_executable(ranks_driver ${CMAKE_CURRENT_LIST_DIR}/ranks_driver.c)
target_link_libraries(ranks_driver PRIVATE coke_objects)
if(NOT TARGET coke_mpi OR NOT MPIEXEC_EXECUTABLE)
  message(WARNING "no MPI: no tests with several processes; 'make check' installs it")
  return()
endif()
# More processes than cores, and root in containers.
set(MPI_TEST_ENV "OMP_WAIT_POLICY=passive;COKE_MPI=$<TARGET_FILE:coke_mpi>"
  "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1"
  "OMPI_MCA_hwloc_base_binding_policy=none;OMPI_MCA_mpi_yield_when_idle=1"
  "MPIEXEC=${MPIEXEC_EXECUTABLE}")
function(add_mpi_test name timeout)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS mpi TIMEOUT ${timeout} PROCESSORS 2
    ENVIRONMENT "${MPI_TEST_ENV}")
endfunction()
foreach(ranks 2 3 4)
  add_mpi_test(mpi/sums${ranks} 120 ${MPIEXEC_EXECUTABLE} -n ${ranks}
    $<TARGET_FILE:comm_driver> check 20)
endforeach()
add_mpi_test(mpi/ends 120 ${TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/py/test_mpi_ends.py
  $<TARGET_FILE:comm_driver>)
add_mpi_test(mpi/train 600 ${TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/py/test_mpi_train.py
  $<TARGET_FILE:ranks_driver>)
set(mpi_runs ${TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/py/test_mpi_runs.py $<TARGET_FILE:coke>)
add_mpi_test(mpi/runs 600 ${mpi_runs})
add_test(NAME long/mpi_kills CONFIGURATIONS long COMMAND ${mpi_runs} 20)
set_tests_properties(long/mpi_kills PROPERTIES LABELS long TIMEOUT 3600
  ENVIRONMENT "${MPI_TEST_ENV}")
add_mpi_test(mpi/cluster 600 ${TEST_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/py/test_mpi_cluster.py
  $<TARGET_FILE:coke>)
foreach(hosts 2 4)
  add_test(NAME long/mpi_hosts${hosts} CONFIGURATIONS long COMMAND ${TEST_PYTHON}
    ${CMAKE_CURRENT_LIST_DIR}/py/test_mpi_hosts.py $<TARGET_FILE:coke> ${hosts})
  set_tests_properties(long/mpi_hosts${hosts} PROPERTIES LABELS long TIMEOUT 900
    SKIP_RETURN_CODE 77 RUN_SERIAL ON ENVIRONMENT "${MPI_TEST_ENV}")
endforeach()
