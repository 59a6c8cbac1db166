// Compiles the file that includes this once per SIMD level. Such a file begins with
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "cpu/<this file>.cpp"
//   #include "cpu/for_each_level.h"
//
// keeps its kernels under `#if DVM_LEVEL_IS_HERE` between HWY_BEFORE_NAMESPACE() and
// HWY_AFTER_NAMESPACE() in a namespace HWY_NAMESPACE, and ends with `DVM_FILL_BY_LEVEL(fill_x)`
// under
// `#if DVM_CHOOSES_LEVEL`. Highway sets the target options; most kernels are loops that the
// compiler makes SIMD of.
//
// Where other levels exist, the portable one is compiled apart, with the flags of a machine that is
// rare (CMakeLists.txt): DVM_PORTABLE_LEVEL says that this is it.
#ifdef DVM_PORTABLE_LEVEL
#define HWY_COMPILE_ONLY_STATIC
#endif
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#undef DVM_LEVEL_IS_HERE
#if defined(DVM_PORTABLE_LEVEL) || !HWY_ARCH_X86 || HWY_TARGET != HWY_STATIC_TARGET
#define DVM_LEVEL_IS_HERE 1
#else
#define DVM_LEVEL_IS_HERE 0
#endif

// What chooses between levels is compiled once, behind the last of them.
#undef DVM_CHOOSES_LEVEL
#if HWY_ONCE && !defined(DVM_PORTABLE_LEVEL)
#define DVM_CHOOSES_LEVEL 1
#else
#define DVM_CHOOSES_LEVEL 0
#endif

#ifndef DVM_CPU_FOR_EACH_LEVEL
#define DVM_CPU_FOR_EACH_LEVEL

#include "cpu/kernels.h"
#include "cpu/simd_level.h"

// void fill(SimdLevel, KernelTable&), which calls the fill(KernelTable&) of that level.
#if HWY_ARCH_X86
#define DVM_FILL_BY_LEVEL(fill)                        \
  namespace HWY_NAMESPACE {                            \
  void fill(vm::KernelTable& table);                   \
  }                                                    \
  void fill(SimdLevel level, vm::KernelTable& table) { \
    switch (level) {                                   \
      case SimdLevel::amx:                             \
      case SimdLevel::avx512:                          \
        return N_AVX3::fill(table);                    \
      case SimdLevel::avx2:                            \
        return N_AVX2::fill(table);                    \
      case SimdLevel::portable:                        \
        return HWY_STATIC_DISPATCH(fill)(table);       \
    }                                                  \
  }
#else
#define DVM_FILL_BY_LEVEL(fill) \
  void fill(SimdLevel, vm::KernelTable& table) { HWY_STATIC_DISPATCH(fill)(table); }
#endif

#endif
