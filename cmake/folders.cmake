# Helpers that turn a source folder into a library or a test executable.

add_library(dvm_options INTERFACE)
target_include_directories(dvm_options INTERFACE ${PROJECT_SOURCE_DIR}/cpp)
# Of newer compilers than dvm is developed with, nobody has seen which warnings are wrong.
set(warnings_are_errors -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  set(warnings_are_errors)
endif()
# -ffp-contract=off: no FMA across operations the user wrote, which would round once for two of them.
target_compile_options(dvm_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow ${warnings_are_errors}
                                             -ffp-contract=off)
# Messages name files from the root of the sources: the same on every machine, and cached for all.
target_compile_options(dvm_options INTERFACE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
target_compile_definitions(dvm_options INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
if(DVM_SANITIZE)
  target_compile_options(dvm_options INTERFACE -fsanitize=${DVM_SANITIZE} -fno-omit-frame-pointer
                                               -fno-sanitize-recover=all)
  target_link_options(dvm_options INTERFACE -fsanitize=${DVM_SANITIZE})
endif()

# The hook it calls is the fuzzers' (tests/cpp/fuzz/coverage.h).
if(DVM_COVERAGE)
  target_compile_options(dvm_options INTERFACE -fsanitize-coverage=trace-pc)
endif()

# dvm_folder(NAME USES a b ... SMALL x y ...): library dvm_NAME from every .cpp in this folder and those
# below it, on top of the folders it uses. A folder that has headers alone is a library without object
# code. What the folders x y below it do is done once per graph, or when somebody asks: compiled for
# size, which takes a third off their code and a sixth off what compiling it takes. Files whose path
# matches APART are left to whoever asks for that.
function(dvm_folder name)
  cmake_parse_arguments(ARG "" "APART" "USES;SMALL" ${ARGN})
  list(TRANSFORM ARG_USES PREPEND dvm_)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(ARG_APART)
    list(FILTER sources EXCLUDE REGEX "${ARG_APART}")
  endif()
  if(NOT sources)
    add_library(dvm_${name} INTERFACE)
    target_link_libraries(dvm_${name} INTERFACE dvm_options ${ARG_USES})
    return()
  endif()
  if(ARG_SMALL)
    list(JOIN ARG_SMALL "|" folders)
    set(small ${sources})
    list(FILTER small INCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/(${folders})/")
    list(REMOVE_ITEM sources ${small})
  endif()
  add_library(dvm_${name} STATIC ${sources})
  target_link_libraries(dvm_${name} PUBLIC dvm_options ${ARG_USES})
  if(ARG_SMALL)
    dvm_part(dvm_${name} small FILES ${small} OPTIONS -Os)
  endif()
endfunction()
function(dvm_compile_small target)
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-Os>)
endfunction()

# dvm_part(LIBRARY PART FILES ... OPTIONS ...): files of a library with options of their own, where it is
# not compiled for debugging. CMake makes batches of the files of a target, but not of one that has options.
function(dvm_part library part)
  cmake_parse_arguments(ARG "" "" "FILES;OPTIONS" ${ARGN})
  add_library(${library}_${part} OBJECT ${ARG_FILES})
  target_link_libraries(${library}_${part} PRIVATE $<TARGET_PROPERTY:${library},LINK_LIBRARIES>)
  target_compile_options(${library}_${part} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:${ARG_OPTIONS}>")
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:${library}_${part}>)
endfunction()

# What nearly all tests include, parsed once: most of the time of a short file.
function(dvm_share_headers target)
  get_property(first GLOBAL PROPERTY DVM_FIRST_TEST)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(
      ${target} PRIVATE <gtest/gtest.h> <algorithm> <functional> <map> <memory> <optional> <random>
      <span> <string> <vector>)
    set_property(GLOBAL PROPERTY DVM_FIRST_TEST ${target})
  endif()
endfunction()

# dvm_test(NAME USES a b ...): one GoogleTest executable from every .cpp in a test folder.
function(dvm_test name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/cpp)
  target_link_libraries(test_${name} PRIVATE GTest::gtest_main)
  # A test is run once: compiling it for speed takes longer than it gains.
  # A test is run once: what -O1 does beyond -Og takes longer to compile than it gains.
  target_compile_options(test_${name} PRIVATE -Og)
  # Most of a file's time is what it includes and makes of templates, which a batch of files does once.
  set_target_properties(test_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 12)
  dvm_share_headers(test_${name})
  foreach(dep IN LISTS ARG_USES)
    target_link_libraries(test_${name} PRIVATE dvm_${dep})
  endforeach()
  gtest_discover_tests(test_${name} PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60)
endfunction()
