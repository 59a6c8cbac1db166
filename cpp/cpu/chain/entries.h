// The entries of the table that chain_text.inc makes: rows in the order of chain_bodies.def, then
// the others.
#pragma once

#include "vm/isa/program.h"

namespace dvm::cpu::chains {

enum class Binary : int {
#define DVM_CHAIN_ARITHMETIC(name) name,
#define DVM_CHAIN_BINARY(name, where) name,
#include "cpu/chain/bodies.def"
  count
};
enum class Unary : int {
#define DVM_CHAIN_UNARY(name, where) name,
#define DVM_CHAIN_FUNCTION(name, where) name,
#define DVM_CHAIN_IN_PLACE(name, where) name,
#include "cpu/chain/bodies.def"
  count
};
// The rows from here on have bodies for one bank that is both source and destination.
inline constexpr Unary kFirstInPlace = [] {
  const Unary rows[] = {
#define DVM_CHAIN_IN_PLACE(name, where) Unary::name,
#include "cpu/chain/bodies.def"
  };
  return rows[0];
}();
// By the dtype in memory.
enum class Stored : int {
#define DVM_CHAIN_STORED(name, where) name,
#include "cpu/chain/bodies.def"
  count
};

inline constexpr int kBanks = vm::kBanks, kSources = kBanks + 2;
inline constexpr uint8_t kMemory = kBanks, kScalar = kBanks + 1;  // sources that are no bank
inline constexpr int kUnaryRows = static_cast<int>(Binary::count) * kBanks * kSources * kSources;
inline constexpr int kStoredRows = kUnaryRows + static_cast<int>(Unary::count) * kBanks * kSources;
// Of each: loads of what is one run, stores, loads of rows that lie apart.
inline constexpr int kStoredKinds = 3;
inline constexpr int kEnd = kStoredRows + static_cast<int>(Stored::count) * kStoredKinds * kBanks;
inline constexpr int kStore = kEnd + 1;
inline constexpr int kStoreLast = kStore + kBanks;  // a store and the end in one
inline constexpr int kLoadTwo = kStoreLast + kBanks;
inline constexpr int kLoadThree = kLoadTwo + kBanks * kBanks;
inline constexpr int kLoadPerRow = kLoadThree + 1;
inline constexpr int kLoadPerColumn = kLoadPerRow + kBanks;
// Into the lanes of sums; the others for rows that are whole blocks or chunks.
inline constexpr int kSum = kLoadPerColumn + kBanks;
inline constexpr int kSumBlocks = kSum + kBanks;
inline constexpr int kSumChunks = kSumBlocks + kBanks;
// The same in registers, of a bank or of memory, or of their squares; and what comes before.
inline constexpr int kBeginSums = kSumChunks + kBanks;
inline constexpr int kSumInLanes = kBeginSums + 1;
inline constexpr int kSumSquares = kSumInLanes + kBanks + 1;
// Of a bank or of memory, for each destination: by a scalar, and by an element for each row.
inline constexpr int kDivideByScalar = kSumSquares + kBanks + 1;
inline constexpr int kDivideByRows = kDivideByScalar + kBanks * (kBanks + 1);

}  // namespace dvm::cpu::chains
