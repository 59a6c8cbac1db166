// Graphs in files: the same Graph and the same bits come back, what is no such file says so, and a
// program without Python runs one.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "core/error.h"
#include "core/file/file_access.h"
#include "core/file/layout.h"
#include "core/temporary_folder.h"
#include "driver/execute_case.h"
#include "driver/saved.h"
#include "runtime/plain_host.h"

namespace dvm::driver {
namespace {

using core::Graph;
using test::content_of;
using test::FakeHost;
using test::GraphCase;
using test::TemporaryFolder;

core::SavedSettings names_for(const Graph& graph, const std::string& target = "cpu") {
  core::SavedSettings settings{.target = target, .inputs = {}, .results = {}};
  for (const core::Value v : graph.inputs()) {
    settings.inputs.push_back("\"" + std::to_string(v) + "\n");  // any text is a name
  }
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    settings.results.push_back(std::to_string(k));
  }
  return settings;
}

// Lines of the program aside, which lose the folders of their files.
Graph placeless(const Graph& graph) {
  Graph bare(graph.shared_dims());
  for (core::Node node : graph.nodes()) {
    node.loc = {};
    bare.append(std::move(node));
  }
  bare.outputs = graph.outputs;
  return bare;
}

core::SavedGraph read(const std::string& bytes, bool check_elements = false) {
  const auto kept = std::make_shared<std::string>(bytes);
  return core::read_graph(std::as_bytes(std::span(*kept)), kept, "a file", check_elements);
}

// The code and the message of the refusal.
std::string refusal(const std::string& bytes, bool check_elements = false) {
  try {
    read(bytes, check_elements);
  } catch (const core::Error& error) {
    EXPECT_FALSE(core::error_info(error.code()).hint.empty());
    return std::string(core::error_info(error.code()).code) + " " + error.message();
  }
  return "";
}

Executed run_on_cpu(const Graph& graph, const GraphCase& of) {
  FakeHost host;
  const LentConstants constants(graph, host, 0);
  const Compilation compiled = compile(constants.graph(), Options{});
  return run(compiled.graph, of, host, 0, constants.count());
}

TEST(SavedGraph, GeneratedGraphsComeBack) {
  const TemporaryFolder folder;
  const std::string path = folder.file("graph.dvm"), again = folder.file("again.dvm");
  int ran = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    test::GeneratorOptions options{.dtypes = {core::DType::boolean, core::DType::i64,
                                              core::DType::f16, core::DType::f32,
                                              core::DType::f64}};
    options.named = true;
    const GraphCase made = test::generate_graph(seed, options);
    const core::SavedSettings settings = names_for(made.graph);
    core::save_graph(path, made.graph, settings);
    const core::SavedGraph opened = core::open_graph(path, true);
    ASSERT_TRUE(core::equal(placeless(opened.module.main), placeless(made.graph)))
        << "seed " << seed;
    EXPECT_EQ(opened.settings.inputs, settings.inputs);
    EXPECT_EQ(opened.settings.results, settings.results);
    core::save_graph(again, opened.module, opened.settings);
    ASSERT_EQ(content_of(again), content_of(path)) << "seed " << seed;
    if (seed % 3 != 0) continue;
    const Executed before = run_on_cpu(made.graph, made),
                   after = run_on_cpu(opened.module.main, made);
    ASSERT_EQ(before.outcome, after.outcome);
    ASSERT_EQ(before.results.size(), after.results.size());
    for (size_t k = 0; k < before.results.size(); ++k) {
      EXPECT_EQ(before.results[k].data, after.results[k].data) << "seed " << seed;
    }
    ran += before.outcome == runtime::Outcome::done;
  }
  EXPECT_GT(ran, 25);
}

// In this order in memory before and after, on pages of the file.
constexpr const char* kScaled =
    "graph v1 { %0 = input f32[n, 3] @ \"/folders/of/somebody/model.py\":7 "
    "%1 = tensor f32[2, 3] {name = \"w\"} "
    "%2 = transpose(%1) f32[3, 2] {axes = [1, 0]} %3 = matmul(%0, %2) f32[n, 2] return %3, %1 }";

class SavedFile : public ::testing::Test {
 protected:
  SavedFile() {
    const float values[] = {0, 3, 1, 4, 2, 5};  // columns of 0 1 2 and 3 4 5
    const core::Tensor dense =
        core::own_tensor(core::DType::f32, {3, 2}, std::as_bytes(std::span(values)));
    graph.supply(1, core::Tensor({.dtype = core::DType::f32,
                                  .shape = {2, 3},
                                  .strides = {4, 8},
                                  .data = dense->data,
                                  .keep = dense->keep}));
    core::save_graph(path, graph, settings);
    bytes = content_of(path);
  }

  // With the header's own hash made right again.
  static std::string rehashed(std::string changed) {
    auto* const header = reinterpret_cast<core::FileHeader*>(changed.data());
    const auto* const table =
        reinterpret_cast<const core::SectionEntry*>(changed.data() + sizeof(core::FileHeader));
    header->hash = core::hash_of(*header, {table, header->sections});
    return changed;
  }
  template <typename T>
  std::string changed(size_t offset, T value) const {
    std::string copy = bytes;
    std::memcpy(copy.data() + offset, &value, sizeof(T));
    return copy;
  }

  TemporaryFolder folder;
  std::string path = folder.file("scaled.dvm");
  Graph graph = core::parse_graph(kScaled);
  core::SavedSettings settings{.inputs = {"x"}, .results = {"y", "w"}};
  std::string bytes;
};

TEST_F(SavedFile, ElementsLieOnPages) {
  const core::SavedGraph opened = core::open_graph(path, true);
  ASSERT_EQ(opened.sections.size(), 3U);
  EXPECT_EQ(opened.sections[2].offset % core::kPage, 0U);
  const core::TensorData& weight = *opened.module.main.node(1).attrs.values;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(weight.data) % core::kPage, 0U) << "it was copied";
  EXPECT_EQ(weight.strides, (std::vector<int64_t>{4, 8})) << "last bits of products depend on it";
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t offset = i / 3 * weight.strides[0] + i % 3 * weight.strides[1];
    EXPECT_EQ(*reinterpret_cast<const float*>(weight.data + offset), static_cast<float>(i));
  }
}

// So that what runs elsewhere is what was asked for.
TEST_F(SavedFile, StepsThatAreOffStayOff) {
  settings.off = {"simplify", "cse"};
  core::save_graph(path, graph, settings);
  EXPECT_EQ(load(path).settings.off, settings.off);
  for (const char* name : {"fuse", "no_such_step"}) {
    settings.off = {name};
    core::save_graph(path, graph, settings);
    try {
      load(path);
      ADD_FAILURE() << name;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.code(), core::ErrorCode::unknown_name);
    }
  }
}

TEST_F(SavedFile, SourcesAreNamedWithoutTheirFolders) {
  EXPECT_EQ(bytes.find("/folders/of/somebody"), std::string::npos);
  EXPECT_EQ(to_string(core::open_graph(path).module.main.node(0).loc), "model.py:7");
}

TEST_F(SavedFile, ConstantsMayBeReturnedAndOutliveTheGraph) {
  runtime::PlainHost host;
  runtime::BufferView x, results[2];
  {
    const LoadedGraph loaded = load(path);
    const int64_t shape[] = {1, 3};
    ASSERT_TRUE(host.allocate(core::DType::f32, shape, x));
    for (int i = 0; i < 3; ++i) reinterpret_cast<float*>(x.data)[i] = 1;
    runtime::BorrowedContext context;
    ASSERT_EQ(loaded.graph.run(host, {&x, 1}, {}, results, *context), runtime::Outcome::done);
  }
  EXPECT_EQ(reinterpret_cast<const float*>(results[0].data)[1], 12);
  EXPECT_EQ(reinterpret_cast<const float*>(results[1].data)[5], 5) << "its file is mapped still";
  for (const runtime::BufferView& view : {x, results[0], results[1]}) host.release(view.owner);
  EXPECT_EQ(host.live(), 0);
}

TEST_F(SavedFile, WhatIsNoneSaysSo) {
  const auto code = [](core::ErrorCode row) { return core::error_info(row).code; };
  EXPECT_EQ(code(core::ErrorCode::file_header), "DVM-F006");
  EXPECT_EQ(code(core::ErrorCode::file_version), "DVM-F007");
  EXPECT_EQ(code(core::ErrorCode::file_damaged), "DVM-F008");
  EXPECT_EQ(refusal(""), "DVM-F006 a file is no graph that dvm saved");
  EXPECT_EQ(refusal("graph v1 { return }"), "DVM-F006 a file is no graph that dvm saved");
  EXPECT_EQ(refusal(changed(8, uint32_t{2})),
            "DVM-F007 a file is of version 2 of the format; this dvm reads version 1");
  EXPECT_EQ(
      refusal(changed(12, uint32_t{2})),
      "DVM-F007 a file has elements that lie in a way 2, which is not that of this machine: 1");
}

TEST_F(SavedFile, ATargetOfAnotherVersionSaysSo) {
  settings.target = "ascend9999";
  core::save_graph(path, graph, settings);
  try {
    load(path);
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.code(), core::ErrorCode::unknown_target);
  }
  EXPECT_EQ(load(path, "ascend910b1").graph.target().traits().name, "ascend910b1");
}

TEST_F(SavedFile, EveryByteCounts) {
  const size_t texts = core::open_graph(path).sections[2].offset;
  for (size_t size = 0; size < bytes.size(); size += size < texts ? 1 : 7) {
    ASSERT_FALSE(refusal(bytes.substr(0, size)).empty()) << size;
  }
  const core::SavedGraph opened = core::open_graph(path);
  for (const core::Section& section : opened.sections) {
    for (uint64_t at = section.offset; at < section.offset + section.size; ++at) {
      const std::string flipped = changed(at, static_cast<char>(bytes[at] ^ 0x20));
      ASSERT_EQ(refusal(flipped, true).substr(0, 8), "DVM-F008") << at;
    }
  }
  for (size_t at = 0; at < sizeof(core::FileHeader) + 3 * sizeof(core::SectionEntry); ++at) {
    ASSERT_FALSE(refusal(changed(at, static_cast<char>(bytes[at] ^ 1))).empty()) << at;
  }
}

// Tables that somebody else made, with the right hash.
TEST_F(SavedFile, TablesThatLie) {
  const size_t table = sizeof(core::FileHeader);
  const auto entry = [&](size_t k) { return table + k * sizeof(core::SectionEntry); };
  constexpr size_t kOffset = offsetof(core::SectionEntry, offset),
                   kSize = offsetof(core::SectionEntry, size);
  EXPECT_EQ(refusal(rehashed(bytes)), "");
  for (size_t k = 0; k < 3; ++k) {
    for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{1} << 20,
                                 UINT64_MAX, UINT64_MAX - 4095, uint64_t{1} << 63}) {
      EXPECT_FALSE(refusal(rehashed(changed(entry(k) + kSize, value)), true).empty());
      if (k == 2 && value == 4096) continue;  // that is where it lies
      EXPECT_FALSE(refusal(rehashed(changed(entry(k) + kOffset, value)), true).empty());
    }
    EXPECT_FALSE(refusal(rehashed(changed(entry(k), uint32_t{9}))).empty());
  }
  for (const uint64_t axes : {0x11U, 0x20U, 0x12U, 0x101U}) {
    EXPECT_FALSE(
        refusal(rehashed(changed(entry(2) + offsetof(core::SectionEntry, axes), axes))).empty());
  }
}

TEST_F(SavedFile, WhatCannotBeSaved) {
  const auto code_of = [&](const Graph& given, core::SavedSettings named) {
    try {
      core::save_graph(path, given, named);
    } catch (const core::Error& error) {
      return error.code();
    }
    return core::ErrorCode::internal;
  };
  settings.results = {"y"};
  EXPECT_EQ(code_of(graph, settings), core::ErrorCode::unknown_name);
  settings.results = {"y", "y"};
  EXPECT_EQ(code_of(graph, settings), core::ErrorCode::unknown_name);
  settings.results = {"y", "w"};
  EXPECT_EQ(code_of(core::parse_graph(kScaled), settings), core::ErrorCode::unknown_name);
  EXPECT_EQ(content_of(path), bytes) << "what was there stays";
}

// A disk that is full, as a limit on the length of files.
TEST_F(SavedFile, AFailureLeavesWhatWasThere) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 4100, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(core::save_graph(path, graph, settings), core::FileAccessError);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(content_of(path), bytes);
  EXPECT_EQ(folder.count(), 1U);
  EXPECT_THROW(core::save_graph(folder.file("no/folder.dvm"), graph, settings),
               core::FileAccessError);
  EXPECT_THROW(core::open_graph(folder.file("nothing.dvm")), core::FileAccessError);
  EXPECT_THROW(core::open_graph(folder.file("")), core::FileAccessError);
}

TEST_F(SavedFile, AProgramWithoutPythonRunsIt) {
  const std::string command = std::string(DVM_RUN_SAVED) + " " + path + " 2>&1";
  const auto output_of = [&] {
    std::string text;
    std::FILE* const pipe = popen(command.c_str(), "r");
    for (int letter = std::fgetc(pipe); letter != EOF; letter = std::fgetc(pipe)) {
      text += static_cast<char>(letter);
    }
    pclose(pipe);
    return text;
  };
  EXPECT_EQ(output_of(), "y = 5 14 14 50 23 86\nw = 0 3 1 4 2 5\n");
  std::filesystem::resize_file(path, 100);
  EXPECT_NE(output_of().find("DVM-F008"), std::string::npos);
}

}  // namespace
}  // namespace dvm::driver
