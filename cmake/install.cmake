# What `cmake --install` puts where, and the package that find_package(triage) finds.
# Parts with a third-party library have their own export set, so that other users do not need that library.
include(CMakePackageConfigHelpers)
set(triage_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/triage)

install(TARGETS triage triage_encrypted triage_json_file triage_lab triage_testing triage_workflow EXPORT triageTargets FILE_SET HEADERS)
install(EXPORT triageTargets NAMESPACE triage:: DESTINATION ${triage_package_dir})
foreach(part Sqlite Redis Postgres Stores Yaml Llm)
  string(TOLOWER ${part} name)
  if(TARGET triage_${name})
    install(TARGETS triage_${name} EXPORT triage${part}Targets FILE_SET HEADERS)
    install(EXPORT triage${part}Targets NAMESPACE triage:: DESTINATION ${triage_package_dir})
  endif()
endforeach()

# What the package asks for again where it is used.
set(triage_has_libcrypto OFF)
if(TARGET PkgConfig::triage_libcrypto)
  set(triage_has_libcrypto ON)
endif()
set(triage_optional_stores "")
foreach(store sqlite redis postgres)
  if(TARGET triage_${store})
    list(APPEND triage_optional_stores ${store})
  endif()
endforeach()
configure_package_config_file(cmake/triageConfig.cmake.in ${PROJECT_BINARY_DIR}/triageConfig.cmake
  INSTALL_DESTINATION ${triage_package_dir} NO_SET_AND_CHECK_MACRO)
# No API promise before 1.0: another minor version does not fit.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/triageConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/triageConfig.cmake
  ${PROJECT_BINARY_DIR}/triageConfigVersion.cmake
  cmake/FindtriageDeps.cmake
  DESTINATION ${triage_package_dir})
if(TARGET triage_cli)
  file(RELATIVE_PATH to_libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(triage_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
  install(TARGETS triage_cli)
  # The command describes itself.
  install(CODE "
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/described/man)
    foreach(shell bash zsh fish)
      execute_process(COMMAND $<TARGET_FILE:triage_cli> completion \${shell}
        OUTPUT_FILE ${PROJECT_BINARY_DIR}/described/\${shell} COMMAND_ERROR_IS_FATAL ANY)
    endforeach()
    execute_process(COMMAND $<TARGET_FILE:triage_cli> man --into ${PROJECT_BINARY_DIR}/described/man
      COMMAND_ERROR_IS_FATAL ANY)")
  install(FILES ${PROJECT_BINARY_DIR}/described/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    RENAME triage)
  install(FILES ${PROJECT_BINARY_DIR}/described/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
    RENAME _triage)
  install(FILES ${PROJECT_BINARY_DIR}/described/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    RENAME triage.fish)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/described/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  configure_file(data/systemd/triage-resume.service.in triage-resume.service @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/triage-resume.service data/systemd/triage-resume.timer DESTINATION lib/systemd/user)
  # Beside bin/, wherever data goes otherwise: the command looks there.
  cmake_path(SET triage_beside NORMALIZE ${CMAKE_INSTALL_BINDIR}/../share/triage)
  install(DIRECTORY data/adapters data/failures DESTINATION ${triage_beside})  # The latter for `triage train`.
  install(FILES clients/triage_client.py clients/triage_client.mjs DESTINATION ${triage_beside}/clients)
endif()
# Not CMAKE_INSTALL_DOCDIR, which is the one of the project that includes this one.
set(triage_documents ${CMAKE_INSTALL_DATAROOTDIR}/doc/triage)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${triage_documents})
install(DIRECTORY docs examples DESTINATION ${triage_documents})  # README links to them.
