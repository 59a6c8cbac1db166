# dvm_spdlog: spdlog and fmt as headers only. Debian builds both as shared libraries, which a wheel
# must not need; spdlog's own header-only target still asks for the shared fmt, hence this one.
find_package(Threads REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
add_library(dvm_spdlog INTERFACE)
target_include_directories(
  dvm_spdlog SYSTEM
  INTERFACE $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_definitions(dvm_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(dvm_spdlog INTERFACE fmt::fmt-header-only Threads::Threads)
