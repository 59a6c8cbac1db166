// Fuzzes the reader of saved graphs, and what is done with those that it takes: they are compiled.
// Each damaged file is read twice, the second time with its hashes made right again, as somebody
// would who makes files to harm.
#include "core/file/layout.h"
#include "core/graph_generator.h"
#include "core/module_generator.h"
#include "core/temporary_folder.h"
#include "driver/saved.h"
#include "fuzz/fuzz_main.h"
#include "runtime/plain_host.h"

namespace dvm {
namespace {

using core::FileHeader;
using core::SectionEntry;

// Where the table lies within the file, and each section that does.
void rehash(std::string& file) {
  FileHeader header;
  if (file.size() < sizeof(header)) return;
  std::memcpy(&header, file.data(), sizeof(header));
  const auto bytes = std::as_bytes(std::span(file));
  const size_t most = (file.size() - sizeof(header)) / sizeof(SectionEntry);
  std::vector<SectionEntry> table(std::min<size_t>(header.sections, most));
  const size_t size = table.size() * sizeof(SectionEntry);
  if (size != 0) std::memcpy(table.data(), file.data() + sizeof(header), size);
  for (SectionEntry& entry : table) {
    if (entry.offset > file.size() || entry.size > file.size() - entry.offset) continue;
    entry.hash = core::sha256(bytes.subspan(entry.offset, entry.size));
  }
  header.size = file.size();
  header.hash = core::hash_of(header, table);
  std::memcpy(file.data(), &header, sizeof(header));
  if (size != 0) std::memcpy(file.data() + sizeof(header), table.data(), size);
}

// In memory of exactly its bytes, so that what reads beyond them shows.
void load(const std::string& file, bool check_elements) {
  const std::shared_ptr<std::byte[]> kept(new std::byte[file.size()]);
  const std::span<std::byte> bytes(kept.get(), file.size());
  std::ranges::copy(std::as_bytes(std::span(file)), bytes.begin());
  const core::SavedGraph saved = core::read_graph(bytes, kept, "the file", check_elements);
  core::Module module = saved.module;
  core::Graph& graph = module.main;
  for (core::Value v = 0; v < graph.size(); ++v) {
    const core::Node& node = graph.node(v);
    if (node.attrs.name.empty()) continue;
    core::dense_bytes(*node.attrs.values);  // that all of them are there
    graph.supply(v, runtime::PlainHost::lent(*node.attrs.values));
  }
  const core::SavedSettings& settings = saved.settings;
  driver::compile(
      module,
      driver::options_of(settings.target, settings.numerics, settings.precision, settings.off),
      driver::checks_of(graph, settings.checks));
}

void read_file(std::string_view text) {
  std::string file(text);
  try {
    load(file, true);
  } catch (const core::Error& error) {
    if (error.code() == core::ErrorCode::internal) throw;
  }
  rehash(file);
  load(file, true);
}

std::string generate(fuzz::Random& random) {
  static const test::TemporaryFolder folder;
  test::GeneratorOptions options{.nodes = 6, .max_elements = 100};
  options.named = true;
  const core::Module module = random() % 4 == 0
                                  ? test::generate_module(random()).module
                                  : core::Module(test::generate_graph(random(), options).graph);
  const core::Graph& graph = module.main;
  core::SavedSettings settings{
      .target = random() % 2 == 0 ? "cpu" : "ascend910b3", .inputs = {}, .results = {}};
  if (random() % 4 == 0) settings.off = {"cse", "simplify"};
  for (const core::Value v : graph.inputs()) settings.inputs.push_back("x" + std::to_string(v));
  for (size_t k = 0; k < graph.outputs.size(); ++k) {
    settings.results.push_back("y" + std::to_string(k));
  }
  core::save_graph(folder.file("graph"), module, settings);
  return test::content_of(folder.file("graph"));
}

}  // namespace
}  // namespace dvm

int main(int argc, char** argv) {
  const dvm::fuzz::Reader reader = {"saved-graph", dvm::generate, dvm::read_file};
  return dvm::fuzz::fuzz_main(argc, argv, {&reader, 1});
}
