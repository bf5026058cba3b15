# FindOneDNN.cmake - the target OneDNN::dnnl; fails in words on a oneDNN that will not do.
#
# OneDNN_ROOT (CMake or environment variable) names another oneDNN than the system's: a prefix
# with include/oneapi/dnnl/dnnl.h below. It is the only place looked at, so that a wrong name is
# an error and not silently the system's. oneDNN's own dnnl-config.cmake is not used: Debian's
# demands the development files of OpenCL, which nothing here needs.
set(OneDNN_OLDEST 2.6)
set(OneDNN_PACKAGE "Debian 12 and later: libdnnl-dev")

set(where)
if(OneDNN_ROOT OR DEFINED ENV{OneDNN_ROOT})
  set(OneDNN_PLACE "${OneDNN_ROOT}")
  if(NOT OneDNN_PLACE)
    set(OneDNN_PLACE "$ENV{OneDNN_ROOT}")
  endif()
  set(where PATHS "${OneDNN_PLACE}" NO_DEFAULT_PATH)
  set(OneDNN_WHERE " in OneDNN_ROOT (${OneDNN_PLACE})")
endif()
find_path(OneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.h ${where} PATH_SUFFIXES include)
find_library(OneDNN_LIBRARY dnnl ${where}
             PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE})
mark_as_advanced(OneDNN_INCLUDE_DIR OneDNN_LIBRARY)
if(NOT OneDNN_INCLUDE_DIR OR NOT OneDNN_LIBRARY)
  message(FATAL_ERROR "oneDNN is missing${OneDNN_WHERE}: ${OneDNN_OLDEST} or newer is needed "
                      "(${OneDNN_PACKAGE})")
endif()

file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines
     REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9]*([0-9]+);[^0-9]*([0-9]+);[^0-9]*([0-9]+)" "\\1.\\2.\\3"
       OneDNN_VERSION "${lines}")
if(OneDNN_VERSION VERSION_LESS OneDNN_OLDEST)
  message(FATAL_ERROR "oneDNN ${OneDNN_VERSION} is too old: ${OneDNN_OLDEST} or newer is needed "
                      "(${OneDNN_PACKAGE})")
endif()

# Its threads and ours must be one pool: with another runtime the thread count would not reach it.
file(STRINGS ${OneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h OneDNN_THREADS
     REGEX "define DNNL_CPU_THREADING_RUNTIME ")
if(NOT OneDNN_THREADS MATCHES "DNNL_RUNTIME_OMP")
  string(REGEX REPLACE ".*DNNL_RUNTIME_" "" OneDNN_THREADS "${OneDNN_THREADS}")
  message(FATAL_ERROR "oneDNN ${OneDNN_VERSION} is built for the thread runtime "
                      "${OneDNN_THREADS}: a build for OpenMP is needed (${OneDNN_PACKAGE})")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OneDNN REQUIRED_VARS OneDNN_LIBRARY OneDNN_INCLUDE_DIR
                                  VERSION_VAR OneDNN_VERSION)
if(NOT TARGET OneDNN::dnnl)
  add_library(OneDNN::dnnl UNKNOWN IMPORTED)
  set_target_properties(OneDNN::dnnl PROPERTIES IMPORTED_LOCATION "${OneDNN_LIBRARY}"
                        INTERFACE_INCLUDE_DIRECTORIES "${OneDNN_INCLUDE_DIR}")
endif()
