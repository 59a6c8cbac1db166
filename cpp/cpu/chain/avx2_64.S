// Chains of 64-bit elements on AVX2.
#define DVM_CHAIN_LEVEL avx2
#define DVM_CHAIN_ISA "cpu/chain/isa_avx2.inc"
#define DVM_CHAIN_WIDTH 64
#include "cpu/chain/text.inc"
