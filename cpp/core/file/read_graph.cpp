// Reading what anybody may have written: bounds first, then hashes, then what the texts say, and
// only then is anything used.
#include <algorithm>
#include <optional>
#include <set>

#include "core/file/file_access.h"
#include "core/file/layout.h"
#include "core/text/text_lexer.h"

namespace dvm::core {

namespace {

using Bytes = std::span<const std::byte>;

// Tables longer than any that is written are none.
constexpr uint32_t kMostSections = 1 << 20;

template <typename T>
T read(Bytes bytes, uint64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Reader {
 public:
  Reader(Bytes bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  SavedGraph run(const std::shared_ptr<const void>& keep, bool check_elements) {
    read_table();
    for (const Section& section : sections_) {
      if (section.kind != SectionKind::elements || check_elements) check_hash(section);
    }
    SavedGraph saved{.settings = settings(text_of(content(sections_[0]))),
                     .module = parse_module(text_of(content(sections_[1]))),
                     .sections = {}};
    Graph& graph = saved.module.main;
    check_count(saved.settings.inputs, graph.inputs().size(), "inputs");
    check_count(saved.settings.results, graph.outputs.size(), "results");
    supply(graph, keep);
    saved.sections = std::move(sections_);
    return saved;
  }

 private:
  [[noreturn]] void refuse(ErrorCode code, const std::string& what) const {
    fail(code, name_ + " " + what);
  }
  [[noreturn]] void damaged(const std::string& what) const {
    refuse(ErrorCode::file_damaged, "is damaged: " + what);
  }
  Bytes content(const Section& section) const {
    return bytes_.subspan(section.offset, section.size);
  }

  void read_table() {
    if (bytes_.size() < sizeof(kMagic) || std::memcmp(bytes_.data(), kMagic, sizeof(kMagic)) != 0) {
      refuse(ErrorCode::file_header, "is no graph that dvm saved");
    }
    if (bytes_.size() < sizeof(FileHeader)) damaged("it ends within its header");
    const auto header = read<FileHeader>(bytes_, 0);
    if (header.version != kSavedVersion) {
      refuse(ErrorCode::file_version, "is of version " + std::to_string(header.version) +
                                          " of the format; this dvm reads version " +
                                          std::to_string(kSavedVersion));
    }
    if (header.elements != kElementsLittleEndian) {
      refuse(ErrorCode::file_version,
             "has elements that lie in a way " + std::to_string(header.elements) +
                 ", which is not that of this machine: " + std::to_string(kElementsLittleEndian));
    }
    if (header.size != bytes_.size()) {
      damaged("it has " + std::to_string(bytes_.size()) + " of " + std::to_string(header.size) +
              " bytes");
    }
    const uint64_t end = sizeof(FileHeader) + uint64_t{header.sections} * sizeof(SectionEntry);
    if (header.sections < 2 || header.sections > kMostSections || end > bytes_.size()) {
      damaged("its table of sections does not fit");
    }
    std::vector<SectionEntry> table(header.sections);
    std::memcpy(table.data(), bytes_.data() + sizeof(FileHeader), end - sizeof(FileHeader));
    if (header.reserved != 0 || hash_of(header, table) != header.hash) {
      damaged("its table of sections was changed");
    }
    read_sections(table, end);
  }

  // In their order in the file, one behind the other.
  void read_sections(const std::vector<SectionEntry>& table, uint64_t end) {
    for (size_t k = 0; k < table.size(); ++k) {
      const SectionEntry& entry = table[k];
      const SectionKind wanted = k == 0   ? SectionKind::settings
                                 : k == 1 ? SectionKind::graph
                                          : SectionKind::elements;
      const std::string which = "section " + std::to_string(k);
      if (entry.kind != static_cast<uint32_t>(wanted) || entry.reserved != 0) {
        damaged(which + " is not its " + std::string(to_string(wanted)));
      }
      if (entry.offset < end || entry.offset > bytes_.size() ||
          entry.size > bytes_.size() - entry.offset) {
        damaged(which + " does not lie in it, behind the one before");
      }
      if (wanted == SectionKind::elements && entry.offset % kPage != 0) {
        damaged(which + " does not begin with a page");
      }
      end = entry.offset + entry.size;
      sections_.push_back({wanted, entry.offset, entry.size, entry.hash});
      axes_.push_back(entry.axes);
    }
  }

  void check_hash(const Section& section) const {
    if (sha256(content(section)) == section.hash) return;
    damaged("its " + std::string(to_string(section.kind)) + " at byte " +
            std::to_string(section.offset) + " were changed");
  }

  SavedSettings settings(std::string_view text) const {
    TextLexer lexer("settings of " + name_, text);
    SavedSettings settings;
    lexer.expect_word("saved");
    if (!lexer.take_word("v1")) {
      refuse(ErrorCode::file_version, "has settings of another version than v1");
    }
    lexer.expect("{");
    const auto line = [&](std::string_view key) {
      lexer.expect_word(key);
      return lexer.quoted();
    };
    settings.target = line("target");
    settings.numerics = line("numerics");
    settings.precision = line("precision");
    while (lexer.take_word("off")) settings.off.push_back(lexer.quoted());
    while (lexer.take_word("check")) {
      SavedCheck& check = settings.checks.emplace_back();
      check.left = lexer.quoted();
      check.compare = lexer.word("a comparison");
      check.right = lexer.quoted();
    }
    while (lexer.take_word("input")) settings.inputs.push_back(lexer.quoted());
    while (lexer.take_word("result")) settings.results.push_back(lexer.quoted());
    lexer.expect("}");
    if (!lexer.at_end()) lexer.unexpected("the end");
    return settings;
  }

  void check_count(const std::vector<std::string>& names, size_t count,
                   const std::string& what) const {
    const std::set<std::string_view> once(names.begin(), names.end());
    if (names.size() != count || once.size() != count || once.contains("")) {
      damaged("the names of its " + what + " are not those of as many");
    }
  }

  void supply(Graph& graph, const std::shared_ptr<const void>& keep) const {
    size_t next = 2;
    for (Value v = 0; v < graph.size(); ++v) {
      const Node& node = graph.node(v);
      if (node.attrs.name.empty()) continue;
      const std::string which = "constant '" + node.attrs.name + "'";
      if (next == sections_.size()) damaged("it has no elements of " + which);
      const uint64_t axes = axes_[next];
      const Section& section = sections_[next++];
      TensorData tensor{.dtype = node.type.dtype, .keep = keep};
      for (const Dim size : node.type.shape) tensor.shape.push_back(size.as_constant().value());
      if (size_of(tensor) != section.size) damaged("it has other elements of " + which);
      const Bytes elements = content(section);
      if (tensor.dtype == DType::boolean &&
          std::ranges::any_of(elements, [](std::byte b) { return b > std::byte{1}; })) {
        damaged(which + " has elements that are neither true nor false");
      }
      if (!set_strides(tensor, axes)) damaged(which + " has axes that it has not");
      tensor.data = elements.data();
      graph.supply(v, Tensor(std::move(tensor)));
    }
    if (next != sections_.size()) damaged("it has elements of no constant");
  }

  // Whether these are its axes, each once.
  static bool set_strides(TensorData& tensor, uint64_t axes) {
    std::vector<size_t> order;
    std::vector<int64_t> shape;
    for (size_t k = 0; k < tensor.shape.size(); ++k, axes >>= kAxisBits) {
      const size_t axis = axes % (1 << kAxisBits);
      if (axis >= tensor.shape.size() || std::ranges::find(order, axis) != order.end()) {
        return false;
      }
      order.push_back(axis);
      shape.push_back(tensor.shape[axis]);
    }
    const std::vector<int64_t> strides = dense_strides(tensor.dtype, shape);
    tensor.strides.resize(order.size());
    for (size_t k = 0; k < order.size(); ++k) tensor.strides[order[k]] = strides[k];
    return axes == 0;
  }

  // In bytes; nothing where no memory could hold it, nor what its strides span.
  static std::optional<uint64_t> size_of(const TensorData& tensor) {
    int64_t span = byte_size(tensor.dtype);
    bool is_empty = false;
    for (const int64_t extent : tensor.shape) {
      is_empty |= extent == 0;
      if (__builtin_mul_overflow(span, std::max<int64_t>(extent, 1), &span)) return std::nullopt;
    }
    return is_empty ? 0 : static_cast<uint64_t>(span);
  }

  Bytes bytes_;
  const std::string& name_;
  std::vector<Section> sections_;
  std::vector<uint64_t> axes_;  // of each
};

}  // namespace

SavedGraph read_graph(std::span<const std::byte> bytes, const std::shared_ptr<const void>& keep,
                      const std::string& name, bool check_elements) {
  return Reader(bytes, name).run(keep, check_elements);
}

SavedGraph open_graph(const std::string& path, bool check_elements) {
  const auto file = std::make_shared<MappedFile>(path);
  return read_graph(file->bytes(), file, path, check_elements);
}

}  // namespace dvm::core
