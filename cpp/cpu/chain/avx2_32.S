// Chains of 32-bit elements on AVX2.
#define DVM_CHAIN_LEVEL avx2
#define DVM_CHAIN_ISA "cpu/chain/isa_avx2.inc"
#define DVM_CHAIN_WIDTH 32
#include "cpu/chain/text.inc"
