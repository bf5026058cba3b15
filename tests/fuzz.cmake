# tests/fuzz/fuzz_NAME.c: one libFuzzer program each, with clang in the development build.
# ctest -C long runs each for a while; dict/NAME.dict is its dictionary, where there is one.
if(COKE_DEV AND CMAKE_C_COMPILER_ID MATCHES "Clang")
  set(FUZZ_SECONDS 20 CACHE STRING "how long a fuzz target runs in the tests")
  file(GLOB FUZZ_SOURCES CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/fuzz/fuzz_*.c")
  foreach(source ${FUZZ_SOURCES})
    get_filename_component(name ${source} NAME_WE)
    string(REPLACE "fuzz_" "" short ${name})
    add_executable(${name} ${source})
    target_include_directories(${name} PRIVATE ${CMAKE_CURRENT_LIST_DIR})
    target_compile_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE coke_objects)
    set(dict ${CMAKE_CURRENT_LIST_DIR}/fuzz/dict/${short}.dict)
    set(dict_option)
    if(EXISTS ${dict})
      set(dict_option -dict=${dict})
    endif()
    add_test(NAME fuzz/${short} CONFIGURATIONS long COMMAND ${name}
      -max_total_time=${FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048 -max_len=65536 -seed=1
      -print_final_stats=1 ${dict_option})
    set_tests_properties(fuzz/${short} PROPERTIES LABELS long TIMEOUT 300
      WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  endforeach()
  # Coverage guides the mutations, so the parsers count it; the rest need not slow down.
  if(FUZZ_SOURCES)
    file(GLOB PARSER_SOURCES CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/image/*.c"
         "${CMAKE_SOURCE_DIR}/src/io/*.c" "${CMAKE_SOURCE_DIR}/src/data/*.c")
    set_property(SOURCE ${PARSER_SOURCES} TARGET_DIRECTORY coke_objects
                 APPEND PROPERTY COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
  endif()
endif()
