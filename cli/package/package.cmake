# `cpack -G DEB` in the build folder: the program, its manual, the completions and the examples. From a static build
# (-DCULPRIT_STATIC=ON) the package needs no library and installs on every Debian and Ubuntu of this processor; from any
# other it depends on the libraries of the release that it was built on.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME culprit)
set(CPACK_PACKAGE_VENDOR "the culprit authors")
set(CPACK_PACKAGE_CONTACT "the culprit authors <culprit@example.org>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tells why a GPU training job failed")
set(CPACK_PACKAGE_DESCRIPTION
"culprit reads what was collected after a large GPU training job crashed, hung,
slowed down or went NaN: output of the ranks, kernel and scheduler logs, flight
recorders, stack dumps, metrics. It names the machine, program or service at
fault, with the lines that show it and the next step. It needs no server, no
network and no Python.")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS tzdata)   # time zones by name
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
if(NOT CULPRIT_STATIC)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
set(CPACK_CULPRIT_FOLDER ${CMAKE_CURRENT_LIST_DIR})
set(CPACK_CULPRIT_STATIC ${CULPRIT_STATIC})
include(CPack)
