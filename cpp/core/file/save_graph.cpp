// Writing: constants first, from page to page, then the table that says what they are.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "core/file/file_access.h"
#include "core/file/layout.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

namespace {

// Of a source its name alone: the folders are those of one machine.
Loc without_folders(Loc loc) {
  if (!loc) return loc;
  return make_loc(loc.file->substr(loc.file->find_last_of('/') + 1), loc.line);
}

Graph without_folders(const Graph& graph) {
  Graph portable(graph.shared_dims());
  for (Node node : graph.nodes()) {
    node.loc = without_folders(node.loc);
    for (Body& body : node.attrs.bodies) {
      body = std::make_shared<const Graph>(without_folders(*body));
    }
    portable.append(std::move(node));
  }
  portable.outputs = graph.outputs;
  return portable;
}

Module without_folders(const Module& module) {
  Module portable(without_folders(module.main));
  portable.types = module.types;
  for (const Function& function : module.functions) {
    portable.functions.push_back({function.name, without_folders(function.graph)});
  }
  return portable;
}

void check_names(const std::vector<std::string>& names, size_t count, std::string_view what) {
  if (names.size() != count) {
    fail(ErrorCode::unknown_name, "the graph has " + std::to_string(count) + " " +
                                      std::string(what) + ", of which " +
                                      std::to_string(names.size()) + " are named");
  }
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty() || !seen.insert(name).second) {
      fail(ErrorCode::unknown_name,
           "two of the " + std::string(what) + " are named '" + name + "', or one is not named");
    }
  }
}

std::string settings_text(const SavedSettings& settings) {
  std::string text = "saved v1 {\n";
  const auto line = [&](std::string_view key, const std::string& value) {
    text += "  " + std::string(key) + " " + quote(value) + "\n";
  };
  line("target", settings.target);
  line("numerics", settings.numerics);
  line("precision", settings.precision);
  for (const std::string& step : settings.off) line("off", step);
  for (const auto& [left, compare, right] : settings.checks) {
    line("check", left);
    text.insert(text.size() - 1, " " + compare + " " + quote(right));
  }
  for (const std::string& name : settings.inputs) line("input", name);
  for (const std::string& name : settings.results) line("result", name);
  return text + "}\n";
}

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(path) {}

  void add(SectionKind kind, uint64_t offset, std::span<const std::byte> bytes, uint64_t axes = 0) {
    file_.write(offset, bytes);
    table_.push_back({.kind = static_cast<uint32_t>(kind),
                      .reserved = 0,
                      .offset = offset,
                      .size = bytes.size(),
                      .hash = sha256(bytes),
                      .axes = axes});
    end_ = offset + bytes.size();
  }
  void add(SectionKind kind, uint64_t offset, std::string_view text) {
    add(kind, offset, std::as_bytes(std::span(text)));
  }
  uint64_t end() const { return end_; }

  void finish() {
    FileHeader header{.magic = {},
                      .version = kSavedVersion,
                      .elements = kElementsLittleEndian,
                      .size = end_,
                      .sections = static_cast<uint32_t>(table_.size()),
                      .reserved = 0,
                      .hash = {}};
    std::ranges::copy(kMagic, header.magic);
    header.hash = hash_of(header, table_);
    file_.write(sizeof(header), std::as_bytes(std::span(table_)));
    file_.write(0, std::as_bytes(std::span(&header, 1)));
    file_.finish(end_);
  }

 private:
  ReplacedFile file_;
  std::vector<SectionEntry> table_;
  uint64_t end_ = 0;
};

std::vector<size_t> axes_in_memory(const TensorData& tensor) {
  std::vector<size_t> axes(tensor.shape.size());
  std::iota(axes.begin(), axes.end(), size_t{0});
  std::ranges::stable_sort(axes, std::greater(), [&](size_t axis) { return tensor.strides[axis]; });
  return axes;
}

// The same elements with these axes in this order.
TensorData transposed(const TensorData& tensor, const std::vector<size_t>& axes) {
  TensorData turned{.dtype = tensor.dtype, .data = tensor.data, .keep = tensor.keep};
  for (const size_t axis : axes) {
    turned.shape.push_back(tensor.shape[axis]);
    turned.strides.push_back(tensor.strides[axis]);
  }
  return turned;
}

void add_elements(Writer& writer, const TensorData& given) {
  const std::vector<size_t> axes = axes_in_memory(given);
  uint64_t packed = 0;
  for (size_t k = 0; k < axes.size(); ++k) packed |= uint64_t{axes[k]} << (kAxisBits * k);
  const TensorData tensor = transposed(given, axes);
  const uint64_t page = (writer.end() + kPage - 1) / kPage * kPage;
  if (tensor.strides == dense_strides(tensor.dtype, tensor.shape)) {
    uint64_t size = static_cast<uint64_t>(byte_size(tensor.dtype));
    for (const int64_t extent : tensor.shape) size *= static_cast<uint64_t>(extent);
    writer.add(SectionKind::elements, page, std::span(tensor.data, size), packed);
  } else {
    writer.add(SectionKind::elements, page, dense_bytes(tensor), packed);
  }
}

}  // namespace

std::string_view to_string(SectionKind kind) {
  switch (kind) {
    case SectionKind::settings:
      return "settings";
    case SectionKind::graph:
      return "graph";
    case SectionKind::elements:
      return "elements";
  }
  return "?";
}

void save_graph(const std::string& path, const Module& module, const SavedSettings& settings) {
  verify(module);
  const Graph& graph = module.main;
  check_names(settings.inputs, graph.inputs().size(), "inputs");
  check_names(settings.results, graph.outputs.size(), "results");
  std::vector<const Node*> constants;
  for (const Node& node : graph.nodes()) {
    if (node.attrs.name.empty()) continue;
    if (!node.attrs.values) {
      fail(ErrorCode::unknown_name,
           "the graph has a constant '" + node.attrs.name + "', which is not supplied");
    }
    constants.push_back(&node);
  }
  Writer writer(path);
  const uint64_t table = (2 + constants.size()) * sizeof(SectionEntry);
  writer.add(SectionKind::settings, sizeof(FileHeader) + table, settings_text(settings));
  writer.add(SectionKind::graph, writer.end(), print(without_folders(module)));
  for (const Node* constant : constants) add_elements(writer, *constant->attrs.values);
  writer.finish();
}

}  // namespace dvm::core
