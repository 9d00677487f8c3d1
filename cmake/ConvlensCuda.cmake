# Whether the CUDA backend is built, and how. Its code lies in targets of its own (kernels/cuda, primitives/cuda).
#   CONVLENS_CUDA   OFF; ON: an error where nvcc is missing; AUTO: where nvcc is found
set(CONVLENS_CUDA "AUTO" CACHE STRING "CUDA backend: OFF, ON or AUTO (where nvcc is found)")
set_property(CACHE CONVLENS_CUDA PROPERTY STRINGS OFF ON AUTO)
set(CONVLENS_CUDA_ARCHITECTURES "80-real;86-real;89-real;90a-real;75-virtual" CACHE STRING
  "GPU architectures; 90a (not 90) has the kernels with wgmma; later GPUs run what the driver compiles of 75-virtual")

set(CONVLENS_CUDA_ENABLED OFF)
# The sanitizers of the processor's build know nothing of device code.
if(NOT CONVLENS_CUDA STREQUAL "OFF" AND NOT CONVLENS_SANITIZE)
  if(NOT CMAKE_CUDA_COMPILER)
    # Where setup/cuda_compiler.sh looks, too; older compilers are passed over.
    find_program(found_nvcc nvcc NO_CACHE)
    set(too_old "")
    foreach(nvcc "$ENV{CUDACXX}" "$ENV{CUDA_PATH}/bin/nvcc" "${found_nvcc}" /usr/local/cuda/bin/nvcc
        "${PROJECT_SOURCE_DIR}/build/cuda/nvidia/cu13/bin/nvcc")
      if(EXISTS "${nvcc}" AND NOT IS_DIRECTORY "${nvcc}")
        execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE answer ERROR_QUIET)
        if(answer MATCHES "release ([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_GREATER_EQUAL 12.8)
          set(CMAKE_CUDA_COMPILER ${nvcc})
          break()
        endif()
        string(APPEND too_old " (${nvcc} is too old)")
      endif()
    endforeach()
  endif()
  if(CMAKE_CUDA_COMPILER)
    set(CONVLENS_CUDA_ENABLED ON)
  elseif(CONVLENS_CUDA STREQUAL "ON")
    message(FATAL_ERROR "CONVLENS_CUDA=ON, but there is no nvcc of 12.8 or later${too_old}; install the CUDA toolkit, run setup/cuda_compiler.sh, or configure with CONVLENS_CUDA=OFF")
  endif()
endif()

if(CONVLENS_CUDA_ENABLED)
  set(CMAKE_CUDA_ARCHITECTURES ${CONVLENS_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  # CMake 3.25 does not know the C++20 option of nvcc 13 and would drop the standard without a word.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
endif()

# convlens_cuda_room(NAME sources...): a static library of .cu files with the project's flags.
function(convlens_cuda_room name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC Threads::Threads)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  # constexpr members of std::array are called in kernels; lineinfo lets profilers and checkers name source lines.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -lineinfo -Wno-deprecated-gpu-targets
    --threads=2 -Xcudafe --diag_suppress=20012 -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>)
  if(CONVLENS_WERROR)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
  endif()
endfunction()
