// Chains of 64-bit elements on AVX-512.
#define DVM_CHAIN_LEVEL avx512
#define DVM_CHAIN_ISA "cpu/chain/isa_avx512.inc"
#define DVM_CHAIN_WIDTH 64
#include "cpu/chain/text.inc"
