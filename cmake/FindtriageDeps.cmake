# Imported targets for the dependencies that come with pkg-config files only. Used by the project's own
# build and, installed, by its consumers.
include(FindPackageHandleStandardArgs)
find_package(PkgConfig QUIET)
foreach(dependency re2 libsodium)
  string(REGEX REPLACE "^lib" "" name ${dependency})
  pkg_check_modules(triage_${name} QUIET IMPORTED_TARGET ${dependency})
  if(TARGET PkgConfig::triage_${name} AND NOT TARGET triage_deps::${name})
    add_library(triage_deps::${name} INTERFACE IMPORTED)
    target_link_libraries(triage_deps::${name} INTERFACE PkgConfig::triage_${name})
  endif()
endforeach()
find_package_handle_standard_args(triageDeps REQUIRED_VARS triage_re2_LIBRARIES triage_sodium_LIBRARIES)
