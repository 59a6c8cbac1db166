// Functions of the C library as all versions of it have them. glibc 2.43 has these a second time, for
// what becomes of errno; a wheel that was linked with those would ask for that version where it runs.
#define OLDER(name)                          \
  .symver older_##name, name##@GLIBC_2.2.5; \
  .globl name;                               \
  .hidden name;                              \
  .type name, @function;                     \
  name: jmp older_##name##@PLT

OLDER(acosf)
OLDER(acoshf)
OLDER(asinf)
OLDER(atan2f)
OLDER(atanhf)
OLDER(coshf)
OLDER(sinhf)
OLDER(sqrtf)

.section .note.GNU-stack, "", @progbits
