# install.cmake - manual page, completion, pkg-config file, and where everything goes.
include(GNUInstallDirs)

install(TARGETS coke_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
                            PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/coke/types.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/coke)

foreach(plugin coke_mpi coke_hdf5)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endforeach()

# Relative to the file itself, so that DESTDIR and a later --prefix need no edits.
file(RELATIVE_PATH COKE_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" COKE_PC_PREFIX "${COKE_PC_PREFIX}")
configure_file(cmake/coke.pc.in coke.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/coke.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET coke)
  set_target_properties(coke PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  # The option tables are the only home of the text: page and completion come from them.
  foreach(pair "man=coke.1" "bash=coke.bash")
    string(REGEX MATCH "^[a-z]+" kind ${pair})
    string(REGEX REPLACE "^[a-z]+=" "" file ${pair})
    add_custom_command(OUTPUT ${file} COMMAND coke help --${kind} > ${file} DEPENDS coke
                       VERBATIM)
  endforeach()
  add_custom_target(coke_text ALL DEPENDS coke.1 coke.bash)
  install(TARGETS coke RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${CMAKE_BINARY_DIR}/coke.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${CMAKE_BINARY_DIR}/coke.bash RENAME coke
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
endif()

# What `make install` builds.
add_custom_target(coke_product DEPENDS coke_shared coke coke_text)
foreach(plugin coke_mpi coke_hdf5)
  if(TARGET ${plugin})
    add_dependencies(coke_product ${plugin})
  endif()
endforeach()

# The program finds its library by itself; other programs ask the loader, whose cache may not
# have it. A package (DESTDIR) takes care of that on its own.
install(CODE "
  set(folder \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR})
  set(path \$ENV{PATH})
  set(ENV{PATH} \"\${path}:/sbin:/usr/sbin\")
  execute_process(COMMAND ldconfig -p OUTPUT_VARIABLE known ERROR_QUIET)
  set(ENV{PATH} \"\${path}\")
  string(FIND \"\${known}\" \"=> \${folder}/libcoke.so\" at)
  if(\"\$ENV{DESTDIR}\" STREQUAL \"\" AND at LESS 0)
    message(\"The loader does not know \${folder}/libcoke.so yet. For programs that link \"
            \"it, run ldconfig as root, or if that folder is not in /etc/ld.so.conf, set \"
            \"LD_LIBRARY_PATH=\${folder}. The program coke needs neither.\")
  endif()
")
