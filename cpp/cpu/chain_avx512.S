// Chains of f32 in the registers of AVX-512: threaded code whose bodies are written here and whose
// program (an array of steps, made by chain.cpp for each tile) says which body follows which.
//
//   step       { body of a block, body of a vector, operand }, 24 bytes; a body with two operands in
//              memory or scalars takes two steps, the second for its operand alone
//   block      8 vectors = 128 elements; a body does one operation on all of them
//   vector     one vector of which the mask k1 selects the elements: what remains of a tile. Neither
//              memory nor status flags know of the elements that are masked out
//
//   zmm0-7, 8-15, 16-23   the banks a, x, y      zmm24-31, k2   scratch
//   rdi   the step that runs          rsi   byte offset of the block in its operands
//   r8    the first step              r9    bytes of the tile          rdx   start of its last block
//   r10   whether blocks may overlap  rax, rcx   scratch
//
// Nothing is called and the stack is not touched, so that one frame description covers all bodies.
// Why assembly: no calling convention keeps 24 vectors in registers from one body to the next.
#if defined(__x86_64__) && defined(__ELF__)

#define kStep 24
#define kOperand 16

        .intel_syntax noprefix
        .altmacro

// ------------------------------------------------------------------ instructions, masked or not
        .macro I2 op, d, a
        .if vectors == 1
        \op     zmm\d{k1}{z}, zmm\a
        .else
        \op     zmm\d, zmm\a
        .endif
        .endm

        .macro I3 op, d, a, b
        .if vectors == 1
        \op     zmm\d{k1}{z}, zmm\a, zmm\b
        .else
        \op     zmm\d, zmm\a, zmm\b
        .endif
        .endm

        .macro I3Memory op, d, a, base, lane
        .if vectors == 1
        \op     zmm\d{k1}{z}, zmm\a, [\base+rsi]
        .else
        \op     zmm\d, zmm\a, [\base+rsi+64*\lane]
        .endif
        .endm

        // Without status flags.
        .macro Quiet3 op, d, a, b
        .if vectors == 1
        \op     zmm\d{k1}{z}, zmm\a, zmm\b, {sae}
        .else
        \op     zmm\d, zmm\a, zmm\b, {sae}
        .endif
        .endm

        .macro Load d, base, lane
        .if vectors == 1
        vmovups zmm\d{k1}{z}, [\base+rsi]
        .else
        vmovups zmm\d, [\base+rsi+64*\lane]
        .endif
        .endm

        .macro Store base, lane, a
        .if vectors == 1
        vmovups [\base+rsi]{k1}, zmm\a
        .else
        vmovups [\base+rsi+64*\lane], zmm\a
        .endif
        .endm

        // k2 = a <predicate> b, quiet whatever the predicate
        .macro Compare a, b, predicate
        .if vectors == 1
        vcmpps  k2{k1}, zmm\a, zmm\b, {sae}, \predicate
        .else
        vcmpps  k2, zmm\a, zmm\b, {sae}, \predicate
        .endif
        .endm

        .macro Next steps
        add     rdi, kStep*\steps
        .if vectors == 1
        jmp     [rdi+8]
        .else
        jmp     [rdi]
        .endif
        .endm

// --------------------------------------------------- one vector of each row of chain_bodies.def
        // (a >= b || a != a) ? a : b, that is b where not a >= b and a is a number
        .macro Extreme d, a, b, unless
        Compare \a, \b, \unless
        vcmpps  k2{k2}, zmm\a, zmm\a, {sae}, 7
        vblendmps zmm\d{k2}, zmm\a, zmm\b
        .endm
        .macro lane_maximum d, a, b
        Extreme \d, \a, \b, 0x19
        .endm
        .macro lane_minimum d, a, b
        Extreme \d, \a, \b, 0x16
        .endm

        // The instruction gives its second source of equals and where there is a NaN.
        .macro lane_maximum_number d, a, b
        Quiet3  vmaxps, \d, \b, \a
        .endm
        .macro lane_minimum_number d, a, b
        Quiet3  vminps, \d, \b, \a
        .endm

        .macro Question d, a, b, predicate
        Compare \a, \b, \predicate
        vpmovm2d zmm\d, k2
        .endm
        .macro lane_eq d, a, b
        Question \d, \a, \b, 0x00
        .endm
        .macro lane_ne d, a, b
        Question \d, \a, \b, 0x04
        .endm
        .macro lane_lt d, a, b
        Question \d, \a, \b, 0x11
        .endm
        .macro lane_le d, a, b
        Question \d, \a, \b, 0x12
        .endm
        .macro lane_unordered d, a, b
        Question \d, \a, \b, 0x03
        .endm

        .macro Select d, a, b, condition
        vpmovd2m k2, zmm\condition
        vblendmps zmm\d{k2}, zmm\b, zmm\a
        .endm
        .macro lane_select_a d, a, b
        Select  \d, \a, \b, %(lane)
        .endm
        .macro lane_select_x d, a, b
        Select  \d, \a, \b, %(8+lane)
        .endm
        .macro lane_select_y d, a, b
        Select  \d, \a, \b, %(16+lane)
        .endm

        .macro lane_copy d, a
        .if \d != \a
        vmovaps zmm\d, zmm\a
        .endif
        .endm
        .macro lane_neg d, a
        vpxord  zmm\d, zmm\a, dword ptr [rip+minus_zero]{1to16}
        .endm
        .macro lane_abs d, a
        vpandd  zmm\d, zmm\a, dword ptr [rip+magnitude]{1to16}
        .endm
        .macro lane_sqrt d, a
        I2      vsqrtps, \d, \a
        .endm
        .macro Round d, a, how
        .if vectors == 1
        vrndscaleps zmm\d{k1}{z}, zmm\a, {sae}, \how
        .else
        vrndscaleps zmm\d, zmm\a, {sae}, \how
        .endif
        .endm
        .macro lane_rint d, a
        Round   \d, \a, 8
        .endm
        .macro lane_floor d, a
        Round   \d, \a, 9
        .endm
        .macro lane_ceil d, a
        Round   \d, \a, 10
        .endm
        .macro lane_trunc d, a
        Round   \d, \a, 11
        .endm

// ------------------------------------------------------------------------------------ sources
// A source is 0, 1, 2 (a bank), 3 (memory) or 4 (a scalar, whose bits are the operand). `Fetch` goes
// before the vectors of a body; `Bring` makes one vector of a source in memory a register, and
// register_<name> says which register a source is.
        .macro Fetch source, pointer, scalar, at
        .if \source == 3
        mov     \pointer, [rdi+\at]
        .elseif \source == 4
        vbroadcastss zmm\scalar, dword ptr [rdi+\at]
        .endif
        .endm

        .macro Bring source, pointer, register
        .if \source == 3
        Load    \register, \pointer, %(lane)
        .endif
        .endm

        .macro RegisterOf name, source, brought, scalar
        .if \source == 3
        .set    \name, \brought
        .elseif \source == 4
        .set    \name, \scalar
        .else
        .set    \name, 8*\source+lane
        .endif
        .endm

// ------------------------------------------------------------------------------------- bodies
// Scratch registers alternate from one vector to the next: their loads need not wait.
        .macro Binary op, d, p, q, arithmetic
        .if \p >= 3
        .set    second, kStep+kOperand
        .else
        .set    second, kOperand
        .endif
        Fetch   \p, rcx, 30, kOperand
        Fetch   \q, rax, 31, %(second)
        .set    lane, 0
        .rept   vectors
        RegisterOf ra, \p, %(24+lane%2), 30
        Bring   \p, rcx, %(ra)
        .if (\arithmetic && (\q == 3))
        I3Memory v\op\()ps, %(8*\d+lane), %(ra), rax, %(lane)
        .else
        RegisterOf rb, \q, %(26+lane%2), 31
        Bring   \q, rax, %(rb)
        .if \arithmetic
        I3      v\op\()ps, %(8*\d+lane), %(ra), %(rb)
        .else
        lane_\op %(8*\d+lane), %(ra), %(rb)
        .endif
        .endif
        .set    lane, lane+1
        .endr
        .if ((\p >= 3) && (\q >= 3))
        Next    2
        .else
        Next    1
        .endif
        .endm

        .macro Unary op, d, p
        Fetch   \p, rcx, 30, kOperand
        .set    lane, 0
        .rept   vectors
        RegisterOf ra, \p, %(24+lane%2), 30
        Bring   \p, rcx, %(ra)
        lane_\op %(8*\d+lane), %(ra)
        .set    lane, lane+1
        .endr
        Next    1
        .endm

        .macro StoreBank p
        mov     rcx, [rdi+kOperand]
        .set    lane, 0
        .rept   vectors
        Store   rcx, %(lane), %(8*\p+lane)
        .set    lane, lane+1
        .endr
        Next    1
        .endm

        // Two or three streams at once, vector by vector: eight cache lines of one stream and then
        // eight of the next lose the hardware prefetcher.
        .macro LoadTwo d, e
        mov     rcx, [rdi+kOperand]
        mov     rax, [rdi+kStep+kOperand]
        .set    lane, 0
        .rept   vectors
        Load    %(8*\d+lane), rcx, %(lane)
        Load    %(8*\e+lane), rax, %(lane)
        .set    lane, lane+1
        .endr
        Next    2
        .endm

        .macro LoadThree
        mov     rcx, [rdi+kOperand]
        mov     rax, [rdi+kStep+kOperand]
        mov     r11, [rdi+2*kStep+kOperand]
        .set    lane, 0
        .rept   vectors
        Load    %(lane), rcx, %(lane)
        Load    %(8+lane), rax, %(lane)
        Load    %(16+lane), r11, %(lane)
        .set    lane, lane+1
        .endr
        Next    3
        .endm

        // Bools are bytes in memory, and any byte but 0 is true.
        .macro LoadBools d
        mov     rcx, rsi
        shr     rcx, 2
        add     rcx, [rdi+kOperand]
        .set    lane, 0
        .rept   vectors
        LoadBoolsLane %(8*\d+lane), %(16*lane)
        .set    lane, lane+1
        .endr
        Next    1
        .endm
        .macro LoadBoolsLane d, at
        .if vectors == 1
        vpmovzxbd zmm\d{k1}{z}, [rcx]
        .else
        vpmovzxbd zmm\d, [rcx+\at]
        .endif
        vptestmd k2, zmm\d, zmm\d
        vpmovm2d zmm\d, k2
        .endm

        .macro StoreBools p
        mov     rcx, rsi
        shr     rcx, 2
        add     rcx, [rdi+kOperand]
        .set    lane, 0
        .rept   vectors
        StoreBoolsLane %(8*\p+lane), %(16*lane)
        .set    lane, lane+1
        .endr
        Next    1
        .endm
        .macro StoreBoolsLane p, at
        vpsrld  zmm24, zmm\p, 31
        .if vectors == 1
        vpmovdb [rcx]{k1}, zmm24
        .else
        vpmovdb [rcx+\at], zmm24
        .endif
        .endm

// -------------------------------------------------------------------- the table and the bodies
// An entry is two distances from the table, to the body of a block and to that of a vector; both are
// 0 where there is no body.
        .macro Entry kind, args:vararg
        .p2align 5
        .set    vectors, 8
1:      \kind   \args
        .p2align 4
        .set    vectors, 1
2:      \kind   \args
        .pushsection .rodata
        .long   1b-dvm_chain_bodies, 2b-dvm_chain_bodies
        .popsection
        .endm

        .macro BinaryRow op, arithmetic
        .irp d, 0, 1, 2
        .irp p, 0, 1, 2, 3, 4
        .irp q, 0, 1, 2, 3, 4
        .if ((\p == 4) && (\q == 4))
        .pushsection .rodata
        .long   0, 0
        .popsection
        .else
        Entry   Binary, \op, \d, \p, \q, \arithmetic
        .endif
        .endr
        .endr
        .endr
        .endm

        .macro UnaryRow op
        .irp d, 0, 1, 2
        .irp p, 0, 1, 2, 3, 4
        Entry   Unary, \op, \d, \p
        .endr
        .endr
        .endm

        .section .rodata
        .p2align 6
minus_zero:
        .long   0x80000000
magnitude:
        .long   0x7fffffff
        .p2align 3
        .globl  dvm_chain_bodies
        .hidden dvm_chain_bodies
        .type   dvm_chain_bodies, @object
dvm_chain_bodies:

        .text
        .p2align 6
        .globl  dvm_chain_run
        .hidden dvm_chain_run
        .type   dvm_chain_run, @function
// void dvm_chain_run(const Step* program, int64_t bytes, int64_t overlap)
dvm_chain_run:
        .cfi_startproc
        mov     r8, rdi
        mov     r9, rsi
        mov     r10, rdx
        xor     esi, esi
        lea     rdx, [r9-512]
        test    rdx, rdx
        js      rest
        jmp     [rdi]

// The last step of a program, after a block. What is left is a last block that overlaps the one
// before it, where repeating elements does no harm, or else single vectors.
        .p2align 5
end_of_block:
        add     rsi, 512
        cmp     rsi, rdx
        jg      1f
        mov     rdi, r8
        jmp     [rdi]
1:      cmp     rsi, r9
        je      done
        test    r10, r10
        je      rest
        mov     rsi, rdx
        mov     rdi, r8
        jmp     [rdi]

end_of_vector:
        add     rsi, 64
        cmp     rsi, r9
        jge     done
rest:   mov     rax, r9
        sub     rax, rsi
        shr     rax, 2
        mov     ecx, -1
        bzhi    ecx, ecx, eax
        kmovw   k1, ecx
        mov     rdi, r8
        jmp     [rdi+8]
done:   vzeroupper
        ret

#define DVM_CHAIN_ARITHMETIC(name) BinaryRow name, 1;
#define DVM_CHAIN_BINARY(name) BinaryRow name, 0;
#define DVM_CHAIN_UNARY(name) UnaryRow name;
#include "cpu/chain_bodies.def"

// The other bodies, in the order that chain.cpp knows.
        .pushsection .rodata
        .long   end_of_block-dvm_chain_bodies, end_of_vector-dvm_chain_bodies
        .popsection
        .irp p, 0, 1, 2
        Entry   StoreBank, \p
        .endr
        .irp p, 0, 1, 2
        Entry   LoadBools, \p
        .endr
        .irp p, 0, 1, 2
        Entry   StoreBools, \p
        .endr
        .irp d, 0, 1, 2
        .irp e, 0, 1, 2
        Entry   LoadTwo, \d, \e
        .endr
        .endr
        Entry   LoadThree
        .cfi_endproc
        .size   dvm_chain_run, .-dvm_chain_run
        .section .rodata
        .size   dvm_chain_bodies, .-dvm_chain_bodies
#endif
        .section .note.GNU-stack, "", @progbits
