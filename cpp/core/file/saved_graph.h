// A Graph in a file: what CompiledGraph::save writes and dvm.load reads, with no code of any
// machine or language in it. A file is
//
//   header    magic, version, how elements lie, its length, count of sections, SHA-256 of all that
//             and the table
//   table     of each section: what it is, where it lies, how long it is, its SHA-256
//   settings  a text: target, numerics, precision, which steps of the compiler are left out,
//             checks, names of inputs and results
//   graph     the text of the Graph, or of the Module that it stands in, which is what counts;
//             sources are named without their folders
//   elements  of each constant that has a name, in the Graph's order: without gaps, its axes in the
//             order that they had in memory, on which last bits of products may depend; from the
//             beginning of a page on, so that they are used where the file is mapped
//
// all numbers little-endian. The same Graph gives the same bytes. There is no Plan in it: lowering
// the Graph anew takes milliseconds, and what is in the file means the same to later versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/file/sha256.h"
#include "core/graph/module.h"

namespace dvm::core {

inline constexpr uint32_t kSavedVersion = 1;
// Elements as their C++ types have them in memory, little-endian, floats by IEEE 754.
inline constexpr uint32_t kElementsLittleEndian = 1;
inline constexpr uint64_t kPage = 4096;

enum class SectionKind : uint32_t { settings = 1, graph = 2, elements = 3 };
std::string_view to_string(SectionKind kind);

struct Section {
  SectionKind kind;
  uint64_t offset, size;
  Sha256Digest hash;
};

// What sizes are, beside what the Graph says of them: expressions, and a row of compare.def.
struct SavedCheck {
  std::string left, compare, right;
  bool operator==(const SavedCheck&) const = default;
};

struct SavedSettings {
  std::string target = "cpu", numerics = "default", precision = "highest";
  std::vector<std::string> off = {};    // steps of the compiler that are left out
  std::vector<SavedCheck> checks = {};  // a call is given up where one does not hold
  // As many as Graph::inputs() and outputs, no two of one list the same.
  std::vector<std::string> inputs, results;
};

struct SavedGraph {
  SavedSettings settings;
  Module module;  // the graph's constants with a name are supplied, their memory has no owner
  std::vector<Section> sections;
};

// Throws FileAccessError, GraphError for a Graph that is none, UnsupportedError for a constant that
// is not supplied or names that are too few or not unique.
void save_graph(const std::string& path, const Module& module, const SavedSettings& settings);

// Of bytes from anywhere. Throws FormatError for what is no such file, of another version, or
// damaged; GraphError for a Graph that breaks a rule. `keep` is what the bytes live as long as, and
// so is what constants keep; `name` is what messages call it. Elements are looked at if their
// hashes are wanted: reading all of them takes longer than the rest.
SavedGraph read_graph(std::span<const std::byte> bytes, const std::shared_ptr<const void>& keep,
                      const std::string& name, bool check_elements = false);
// The same of a file, which is mapped.
SavedGraph open_graph(const std::string& path, bool check_elements = false);

}  // namespace dvm::core
