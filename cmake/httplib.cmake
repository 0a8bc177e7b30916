# triage_httplib: cpp-httplib, which the servers of the examples and of the tests are made with.
# Not there: no such target.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(triage_cpp_httplib QUIET IMPORTED_TARGET cpp-httplib)
endif()
if(TARGET PkgConfig::triage_cpp_httplib AND NOT TARGET triage_httplib)
  add_library(triage_httplib INTERFACE)
  target_link_libraries(triage_httplib INTERFACE PkgConfig::triage_cpp_httplib)
  find_package(OpenSSL QUIET)  # The header needs it from 0.18 on, but the package does not declare it.
  if(OpenSSL_FOUND)
    target_link_libraries(triage_httplib INTERFACE OpenSSL::SSL OpenSSL::Crypto)
  endif()
endif()
