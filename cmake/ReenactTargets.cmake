# reenact_library(NAME store SRCS a.cc DEPS reenact::schema PRIVATE_DEPS reenact::sqlite)
#   Makes target reenact_store with alias reenact::store. Headers sit beside
#   their sources and are included from the repository root ("store/a.h").
#   APART: each source is an object of its own in every preset, because tests put another in its place.
function(reenact_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "APART" "NAME" "SRCS;DEPS;PRIVATE_DEPS")
  set(target reenact_${arg_NAME})
  add_library(${target} STATIC ${arg_SRCS})
  add_library(reenact::${arg_NAME} ALIAS ${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(${target} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS} $<BUILD_INTERFACE:reenact_flags>)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON CXX_EXTENSIONS OFF)
  if(arg_APART)
    set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  endif()
endfunction()

# reenact_test(NAME store_ring_test SRCS ring_test.cc drain_test.cc DEPS reenact::store LABELS unit [TIMEOUT 60])
#   A GoogleTest program that is one ctest entry: all files that test one room and need nothing of their own of the
#   process or the linker, because headers and linking cost more than what a file adds. APART: its files use the same
#   names for things of their own, and are not compiled together in any preset.
function(reenact_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "APART" "NAME;TIMEOUT" "SRCS;DEPS;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${arg_NAME} ${arg_SRCS})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS} GTest::gtest_main $<BUILD_INTERFACE:reenact_flags>)
  target_compile_features(${arg_NAME} PRIVATE cxx_std_20)
  # Only the code under test is worth optimising: this halves the time to build all tests.
  target_compile_options(${arg_NAME} PRIVATE -O0)
  target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
  target_precompile_headers(${arg_NAME} REUSE_FROM reenact_test_headers)
  if(arg_APART)
    set_target_properties(${arg_NAME} PROPERTIES UNITY_BUILD OFF)
  endif()
  add_test(NAME ${arg_NAME} COMMAND ${arg_NAME})
  # Unit and fault tests run a second time under the sanitizers: tools/check builds this list there.
  if("unit" IN_LIST arg_LABELS OR "fault" IN_LIST arg_LABELS)
    list(APPEND arg_LABELS sanitized)
    set_property(GLOBAL APPEND PROPERTY REENACT_SANITIZED_TESTS ${arg_NAME})
  endif()
  # Tests of what several threads do: the target threaded_tests, for the preset tsan.
  if("threaded" IN_LIST arg_LABELS)
    set_property(GLOBAL APPEND PROPERTY REENACT_THREADED_TESTS ${arg_NAME})
  endif()
  set_tests_properties(${arg_NAME} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# Warnings for our own code only: never in the export set.
add_library(reenact_flags INTERFACE)
target_compile_options(reenact_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;-Wconversion;-Wno-sign-conversion;-Wno-missing-field-initializers>
  # Where sources are compiled together, an unnamed namespace is one that a "header" has.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>,$<BOOL:${CMAKE_UNITY_BUILD}>>:-Wno-subobject-linkage>
  # ccache keeps what was compiled with a precompiled header only with this option of GCC.
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>)

find_package(Threads REQUIRED)

# What goes into the recorder is linked statically and hidden, so that a host
# may bring its own SQLite: the archives, not the shared libraries.
foreach(archive sqlite3 zstd z)
  find_library(REENACT_${archive}_ARCHIVE NAMES lib${archive}.a REQUIRED)
  add_library(reenact_${archive}_archive INTERFACE)
  target_link_libraries(reenact_${archive}_archive INTERFACE ${REENACT_${archive}_ARCHIVE})
endforeach()
target_link_libraries(reenact_sqlite3_archive INTERFACE m ${CMAKE_DL_LIBS} Threads::Threads)

if(REENACT_DEVELOPER_MODE)
  find_package(absl REQUIRED)
  find_package(nlohmann_json 3.11 REQUIRED)
  find_package(CURL REQUIRED)
  find_package(CLI11 REQUIRED)
  find_library(REENACT_SECCOMP NAMES seccomp REQUIRED)
  find_program(REENACT_MOLD mold)
endif()
