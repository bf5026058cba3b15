# python.cmake - what goes into the Python package: library, program, headers and type stubs.
set_property(TARGET coke_shared PROPERTY VERSION)
set_property(TARGET coke_shared PROPERTY SOVERSION)
set_property(TARGET coke_shared PROPERTY PUBLIC_HEADER)
set_target_properties(coke PROPERTIES INSTALL_RPATH "$ORIGIN/..")
# The package reads functions and structs from the headers.
install(TARGETS coke_shared LIBRARY DESTINATION coke COMPONENT python)
install(TARGETS coke RUNTIME DESTINATION coke/bin COMPONENT python)
install(FILES include/coke.h DESTINATION coke/include COMPONENT python)
install(FILES include/coke/types.h DESTINATION coke/include/coke COMPONENT python)
# Signatures come from the option tables of the library that was just built.
find_package(Python3 COMPONENTS Interpreter)
add_custom_command(TARGET coke_shared POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E env COKE_LIBRARY=$<TARGET_FILE:coke_shared>
          ${Python3_EXECUTABLE} -B "${CMAKE_SOURCE_DIR}/python/coke/_stubs.py"
          "${CMAKE_BINARY_DIR}/__init__.pyi" VERBATIM)
install(FILES "${CMAKE_BINARY_DIR}/__init__.pyi" DESTINATION coke COMPONENT python)
