# What every target of the project shares: language level, warnings, sanitizers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_library(convlens_flags INTERFACE)
# For C++ only: nvcc has other words for them (ConvlensCuda).
target_compile_options(convlens_flags INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Wno-missing-field-initializers>")
# g++ 12 reports an overlapping copy in every `"text" + string` (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(convlens_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(CONVLENS_WERROR)
  target_compile_options(convlens_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
endif()
# Directories from which a room may include; rooms are named from the top, e.g. "kernels/cpu/thread_pool.h".
target_include_directories(convlens_flags INTERFACE ${PROJECT_SOURCE_DIR})
find_package(Threads REQUIRED)
target_link_libraries(convlens_flags INTERFACE Threads::Threads)

if(CONVLENS_SANITIZE)
  add_compile_options(-fsanitize=${CONVLENS_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${CONVLENS_SANITIZE})
endif()

# convlens_room(NAME sources...): a static library of one room with the project's flags.
function(convlens_room name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC convlens_flags)
endfunction()
