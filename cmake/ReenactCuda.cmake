# The compiler for NVIDIA devices, where there is one. A build needs no device and no driver: only to run does.
#
#   REENACT_CUDA                AUTO where nvcc is found; ON: an error where it is not; OFF
#   REENACT_CUDA_ARCHITECTURES  what is compiled for, as numbers: 90 is a Hopper. The first one is also embedded as
#                               PTX, which newer devices compile for themselves
#
# nvcc is looked for in CUDACXX, in PATH and in /usr/local/cuda/bin. Sets REENACT_WITH_CUDA.
set(REENACT_CUDA AUTO CACHE STRING "Kernels for NVIDIA devices: AUTO, ON or OFF")
set_property(CACHE REENACT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(REENACT_CUDA_ARCHITECTURES 90 CACHE STRING "Compute capabilities to compile for, such as 80;90;100")
set(REENACT_WITH_CUDA OFF)

if(NOT REENACT_CUDA STREQUAL "OFF")
  if(DEFINED ENV{CUDACXX})
    set(REENACT_NVCC $ENV{CUDACXX} CACHE FILEPATH "NVIDIA's compiler")
  endif()
  find_program(REENACT_NVCC NAMES nvcc HINTS /usr/local/cuda/bin DOC "NVIDIA's compiler")
  get_filename_component(cuda_folder "${REENACT_NVCC}" REALPATH)
  get_filename_component(cuda_folder "${cuda_folder}/../.." ABSOLUTE)
  find_library(REENACT_CUDART NAMES cudart_static NO_DEFAULT_PATH
    PATHS ${cuda_folder}/lib64 ${cuda_folder}/targets/x86_64-linux/lib ${cuda_folder}/targets/sbsa-linux/lib
    ${cuda_folder}/lib DOC "NVIDIA's runtime, as an archive")
  find_path(REENACT_CUDA_INCLUDE NAMES cuda_runtime_api.h NO_DEFAULT_PATH
    PATHS ${cuda_folder}/include ${cuda_folder}/targets/x86_64-linux/include
    DOC "NVIDIA's headers")
  if(REENACT_NVCC AND REENACT_CUDART AND REENACT_CUDA_INCLUDE)
    set(REENACT_WITH_CUDA ON)
  elseif(REENACT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "REENACT_CUDA is ON, but nvcc, libcudart_static.a or cuda_runtime_api.h was not found: "
      "set CUDACXX to the path of nvcc, or REENACT_CUDA to OFF")
  endif()
endif()

if(REENACT_WITH_CUDA)
  message(STATUS "Kernels for NVIDIA devices: ${REENACT_NVCC}, sm_${REENACT_CUDA_ARCHITECTURES}")
  list(GET REENACT_CUDA_ARCHITECTURES 0 REENACT_CUDA_FIRST_ARCHITECTURE)
  # Older devices are refused when a model is loaded.
  set(sorted ${REENACT_CUDA_ARCHITECTURES})
  list(SORT sorted COMPARE NATURAL)
  list(GET sorted 0 sorted)
  string(REGEX REPLACE "[a-z]" "" REENACT_CUDA_LEAST_ARCHITECTURE ${sorted})
  # The headers alone, for host code; and with the runtime, for what is run on a device.
  add_library(reenact_cuda_headers INTERFACE)
  target_include_directories(reenact_cuda_headers SYSTEM INTERFACE ${REENACT_CUDA_INCLUDE})
  add_library(reenact_cudart INTERFACE)
  target_link_libraries(reenact_cudart INTERFACE ${REENACT_CUDART} Threads::Threads ${CMAKE_DL_LIBS} rt)
else()
  message(STATUS "Kernels for NVIDIA devices: not built (nvcc was not found, or REENACT_CUDA is OFF)")
endif()

# cuda_objects(RESULT [PTX_FOR architecture] KERNELS a.cu b.cu)
#   Compiles each .cu file; RESULT becomes the list of objects; with PTX_FOR they hold nothing but PTX for that
#   architecture. The flags are the same in every preset, so that every
#   build of a version has the same device code: IEEE division and root, subnormals, no contraction. Device code is
#   not compressed: tests read the PTX and the machine code of exactly these objects.
function(cuda_objects result)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PTX_FOR" "KERNELS")
  set(code)
  foreach(architecture ${REENACT_CUDA_ARCHITECTURES})
    list(APPEND code -gencode arch=compute_${architecture},code=sm_${architecture})
  endforeach()
  set(first ${REENACT_CUDA_FIRST_ARCHITECTURE})
  list(APPEND code -gencode arch=compute_${first},code=compute_${first})
  if(arg_PTX_FOR)
    set(code -gencode arch=compute_${arg_PTX_FOR},code=compute_${arg_PTX_FOR})
  endif()
  set(objects)
  foreach(kernel ${arg_KERNELS})
    get_filename_component(source ${kernel} ABSOLUTE)
    get_filename_component(name ${kernel} NAME_WE)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${result}/${name}.cu.o)
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/${result}
      COMMAND ${REENACT_NVCC} -ccbin ${CMAKE_CXX_COMPILER} -std=c++20 -O2 ${code} --no-compress
        --fmad=false --ftz=false --prec-div=true --prec-sqrt=true
        -Xcompiler=-fPIC,-ffp-contract=off,-fno-fast-math,-fvisibility=hidden,-Wall,-Wextra,-Wno-missing-field-initializers
        -I${PROJECT_SOURCE_DIR} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d COMMENT "Building CUDA object ${kernel}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${result} ${objects} PARENT_SCOPE)
endfunction()
