// Chains of 32-bit elements on AVX-512.
#define DVM_CHAIN_LEVEL avx512
#define DVM_CHAIN_ISA "cpu/chain/isa_avx512.inc"
#define DVM_CHAIN_WIDTH 32
#include "cpu/chain/text.inc"
