# The library as an outside user has it: libconvlens.so and libconvlens.a of the same objects, the public headers,
# find_package(convlens) and pkg-config. `cmake --build BUILD --target library`, then `cmake --install BUILD --prefix DIR`.
option(CONVLENS_INSTALL "Configure the installed library" ${PROJECT_IS_TOP_LEVEL})
if(NOT CONVLENS_INSTALL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms convlens_primitives convlens_kernels_cpu convlens_kernels_common)
if(CONVLENS_CUDA_ENABLED)
  list(APPEND rooms convlens_primitives_cuda convlens_kernels_cuda)
else()
  list(APPEND rooms convlens_no_cuda)
endif()
list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)

add_library(convlens_shared SHARED ${objects})
add_library(convlens_static STATIC ${objects})
# While the major version is 0 each minor one may break, so that it is part of the library's name.
set_target_properties(convlens_shared convlens_static PROPERTIES OUTPUT_NAME convlens LINKER_LANGUAGE CXX)
set_target_properties(convlens_shared PROPERTIES VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
set(exports ${CMAKE_CURRENT_LIST_DIR}/convlens.map)
set_property(TARGET convlens_shared PROPERTY LINK_DEPENDS ${exports})
target_link_options(convlens_shared PRIVATE -Wl,--version-script=${exports})
if(NOT CONVLENS_SANITIZE)
  target_link_options(convlens_shared PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(convlens_shared PRIVATE hwy::hwy Threads::Threads ${CMAKE_DL_LIBS})
if(CONVLENS_CUDA_ENABLED)
  target_link_libraries(convlens_shared PRIVATE CUDA::cudart_static)
endif()
add_custom_target(library DEPENDS convlens_shared convlens_static)

install(TARGETS convlens_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS convlens_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/primitives/include/convlens DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN *.h PATTERN *.hpp)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/THIRD_PARTY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Both files find the prefix from where they lie: an installed tree may be moved.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/convlens)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/convlens-config.cmake.in
  ${PROJECT_BINARY_DIR}/package/convlens-config.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/convlens-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/convlens-config.cmake ${PROJECT_BINARY_DIR}/package/convlens-config-version.cmake
  DESTINATION ${package_folder})
set(pkgconfig_folder ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH to_prefix ${pkgconfig_folder} ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH to_libdir ${pkgconfig_folder} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH to_includedir ${pkgconfig_folder} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
set(private_libraries "-lhwy -lstdc++ -lm -lpthread -ldl")
if(CONVLENS_CUDA_ENABLED)
  string(PREPEND private_libraries "-lcudart_static -lrt ")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/convlens.pc.in ${PROJECT_BINARY_DIR}/package/convlens.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/convlens.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
