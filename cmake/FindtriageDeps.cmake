# Imported targets for the dependencies that come without CMake files: triage_deps::re2 and
# triage_deps::sodium. Used by the project's own build and, installed, by its consumers.
# Nothing that was missing is remembered: what find_library did not find it looks for again.
include(FindPackageHandleStandardArgs)

# Not by pkg-config: newer RE2 names a hundred libraries of Abseil there, which costs half a minute.
find_path(triage_re2_INCLUDE_DIR re2/re2.h)
find_library(triage_re2_LIBRARY re2)
mark_as_advanced(triage_re2_INCLUDE_DIR triage_re2_LIBRARY)
set(triage_re2_needs "")
if(triage_re2_INCLUDE_DIR AND triage_re2_LIBRARY)
  set(triage_re2_needs "none")
  file(STRINGS ${triage_re2_INCLUDE_DIR}/re2/stringpiece.h triage_re2_views REGEX "include \"absl/")
  if(triage_re2_views)  # Its texts are Abseil's.
    set(triage_re2_needs "")
    find_package(absl CONFIG QUIET)
    if(TARGET absl::strings)
      set(triage_re2_needs "absl::strings")
    endif()
  endif()
endif()
if(triage_re2_needs AND NOT TARGET triage_deps::re2)
  add_library(triage_deps::re2 INTERFACE IMPORTED)
  target_include_directories(triage_deps::re2 SYSTEM INTERFACE ${triage_re2_INCLUDE_DIR})
  target_link_libraries(triage_deps::re2 INTERFACE ${triage_re2_LIBRARY} Threads::Threads)
  if(TARGET ${triage_re2_needs})
    target_link_libraries(triage_deps::re2 INTERFACE ${triage_re2_needs})
  endif()
endif()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(triage_sodium QUIET IMPORTED_TARGET libsodium)
endif()
# Optional: without it the target is empty, and libsodium does all of the encryption.
if(PkgConfig_FOUND AND NOT TARGET PkgConfig::triage_libcrypto)
  pkg_check_modules(triage_libcrypto QUIET IMPORTED_TARGET libcrypto>=3.0)
endif()
if(NOT TARGET triage_deps::crypto)
  add_library(triage_deps::crypto INTERFACE IMPORTED)
  if(TARGET PkgConfig::triage_libcrypto)
    target_link_libraries(triage_deps::crypto INTERFACE PkgConfig::triage_libcrypto)
  endif()
endif()
if(TARGET PkgConfig::triage_sodium AND NOT TARGET triage_deps::sodium)
  add_library(triage_deps::sodium INTERFACE IMPORTED)
  target_link_libraries(triage_deps::sodium INTERFACE PkgConfig::triage_sodium)
endif()

find_package_handle_standard_args(triageDeps
  REQUIRED_VARS triage_re2_INCLUDE_DIR triage_re2_LIBRARY triage_re2_needs triage_sodium_LIBRARIES
  REASON_FAILURE_MESSAGE "needed: RE2 (and Abseil's CMake files where RE2 is built on it), libsodium, pkg-config")
