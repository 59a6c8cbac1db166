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
// Nothing is called and the stack pointer stays, so that one frame description covers all bodies.
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
        // (a > b || a != a) ? a : b, that is b where not a > b and a is a number
        .macro Extreme d, a, b, unless
        Compare \a, \b, \unless
        vcmpps  k2{k2}, zmm\a, zmm\a, {sae}, 7
        vblendmps zmm\d{k2}, zmm\a, zmm\b
        .endm
        .macro lane_maximum d, a, b
        Extreme \d, \a, \b, 0x1a
        .endm
        .macro lane_minimum d, a, b
        Extreme \d, \a, \b, 0x15
        .endm

        // The instruction gives its second source of zeros and where there is a NaN.
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

// ---------------------------------------------------------------------------------- functions
// Operation by operation what core/math_exp.h writes down, in stages, each of which is done for two
// vectors before the next begins: their chains of dependent instructions overlap. What a function
// raises is found out apart, and its instructions raise nothing else: with {rn-sae}, or where no
// argument can overflow, underflow or be invalid.
        .macro InStages stages:vararg
        .irp    stage, \stages
        \stage  %(8*to+lane), %(8*from+lane), 24, 25, 26, 27
        .if vectors > 1
        \stage  %(8*to+lane+1), %(8*from+lane+1), 28, 29, 30, 31
        .endif
        .endr
        .endm

        .macro Broadcast d, name
        vbroadcastss zmm\d, dword ptr [rip+\name]
        .endm
        .macro Exact op, d, a, b
        \op     zmm\d, zmm\a, zmm\b, {rn-sae}
        .endm
        // d = d * a + c
        .macro MulAdd d, a, c
        vfmadd213ps zmm\d, zmm\a, dword ptr [rip+\c]{1to16}
        .endm

        // (t, q) = reduce(r)
        .macro reduce_0 d, a, t, r, q, k
        Broadcast \t, round
        Broadcast \k, log2e
        Exact   vfmadd231ps, \t, \r, \k
        .endm
        .macro reduce_1 d, a, t, r, q, k
        Broadcast \k, round
        Exact   vsubps, \q, \t, \k
        Broadcast \k, minus_ln2_high
        Exact   vfmadd231ps, \r, \q, \k
        .endm
        .macro reduce_2 d, a, t, r, q, k
        Broadcast \k, minus_ln2_low
        Exact   vfmadd231ps, \r, \q, \k
        Broadcast \q, exp_c4
        .endm
        .macro reduce_3 d, a, t, r, q, k
        MulAdd  \q, \r, exp_c3
        MulAdd  \q, \r, exp_c2
        .endm
        .macro reduce_4 d, a, t, r, q, k
        MulAdd  \q, \r, exp_c1
        MulAdd  \q, \r, exp_c0
        Exact   vmulps, \k, \r, \r
        .endm
        .macro reduce_5 d, a, t, r, q, k
        Exact   vfmadd213ps, \q, \k, \r
        .endm

        .macro exp_clamp d, a, t, r, q, k
        Broadcast \r, exp_zero
        vmaxps  zmm\r, zmm\r, zmm\a, {sae}
        .endm
        .macro exp_small_up d, a, t, r, q, k
        Broadcast \k, exp_small
        vcmpps  k2, zmm\a, zmm\k, {sae}, 0x11
        Broadcast \k, sixty_four
        vaddps  zmm\t{k2}, zmm\t, zmm\k, {rn-sae}
        Broadcast \k, one
        Exact   vaddps, \q, \q, \k
        vpslld  zmm\t, zmm\t, 23
        vpaddd  zmm\q, zmm\q, zmm\t
        Broadcast \k, down
        vmulps  zmm\q{k2}, zmm\q, zmm\k, {rn-sae}
        .endm
        .macro exp_choose d, a, t, r, q, k
        Broadcast \k, exp_max
        vcmpps  k2, zmm\a, zmm\k, {sae}, 0x12
        Broadcast \k, infinity
        Exact   vaddps, \t, \a, \k
        vblendmps zmm\d{k2}, zmm\t, zmm\q
        .endm
        .macro pair_exp
        InStages exp_clamp, reduce_0, reduce_1, reduce_2, reduce_3, reduce_4, reduce_5, exp_small_up, exp_choose
        .endm

        .macro tanh_clamp d, a, t, r, q, k
        vpandd  zmm\r, zmm\a, dword ptr [rip+magnitude]{1to16}
        Broadcast \k, tanh_one
        vminps  zmm\r, zmm\k, zmm\r, {sae}
        Exact   vaddps, \r, \r, \r
        .endm
        .macro tanh_scale d, a, t, r, q, k
        Broadcast \k, one
        vpslld  zmm\t, zmm\t, 23
        vpaddd  zmm\t, zmm\t, zmm\k
        Exact   vsubps, \r, \t, \k
        Exact   vfmadd213ps, \q, \t, \r
        .endm
        .macro tanh_divide d, a, t, r, q, k
        Broadcast \k, two
        Exact   vaddps, \t, \q, \k
        Exact   vdivps, \q, \q, \t
        .endm
        // For |a| below tanh_small; others stay small enough for the polynomial.
        .macro tanh_near_0 d, a, t, r, q, k
        vpandd  zmm\r, zmm\a, dword ptr [rip+magnitude]{1to16}
        Broadcast \k, one
        vminps  zmm\r, zmm\k, zmm\r, {sae}
        Exact   vmulps, \t, \r, \r
        Broadcast \k, tanh_c3
        .endm
        .macro tanh_near_1 d, a, t, r, q, k
        MulAdd  \k, \t, tanh_c2
        MulAdd  \k, \t, tanh_c1
        .endm
        .macro tanh_near_2 d, a, t, r, q, k
        MulAdd  \k, \t, tanh_c0
        Exact   vmulps, \t, \r, \t
        Exact   vfmadd213ps, \k, \t, \r
        .endm
        // q takes the sign of a: where the bit of the mask in t is set, a's.
        .macro tanh_choose d, a, t, r, q, k
        Broadcast \t, tanh_small
        vcmpps  k2, zmm\r, zmm\t, {sae}, 0x11
        vmovaps zmm\q{k2}, zmm\k
        Broadcast \t, minus_zero
        vpternlogd zmm\t, zmm\a, zmm\q, 0xca
        vmovaps zmm\d, zmm\t
        .endm
        .macro pair_tanh
        InStages tanh_clamp, reduce_0, reduce_1, reduce_2, reduce_3, reduce_4, reduce_5, tanh_scale, tanh_divide, tanh_near_0, tanh_near_1, tanh_near_2, tanh_choose
        .endm

        .macro flags_tanh p
        .endm

        // Overflow of finite x beyond exp_max, underflow of those below exp_normal: rare, and looked
        // for only where some |x| is that large.
        .macro flags_exp p
        .set    lane, 0
        .rept   vectors
        .if lane == 0
        LargerMagnitude 24, %(8*\p), %(8*\p)
        .else
        LargerMagnitude 24, 24, %(8*\p+lane)
        .endif
        .set    lane, lane+1
        .endr
        Broadcast 27, exp_plain
        vcmpps  k2, zmm24, zmm27, {sae}, 0x16
        kortestw k2, k2
        jz      3f
        Broadcast 24, exp_max
        Broadcast 25, infinity
        Broadcast 26, exp_normal
        Broadcast 27, minus_infinity
        kxorw   k3, k3, k3
        kxorw   k4, k4, k4
        .set    lane, 0
        .rept   vectors
        Within  k3, 24, %(8*\p+lane), 25
        Within  k4, 27, %(8*\p+lane), 26
        .set    lane, lane+1
        .endr
        xor     eax, eax
        xor     ecx, ecx
        kortestw k3, k3
        setnz   al
        kortestw k4, k4
        setnz   cl
        shl     eax, 3
        shl     ecx, 4
        stmxcsr [rsp-4]
        or      eax, ecx
        or      [rsp-4], eax
        ldmxcsr [rsp-4]
3:
        .endm
        .macro LargerMagnitude d, a, b
        .if vectors == 1
        vrangeps zmm\d{k1}{z}, zmm\a, zmm\b, {sae}, 0x0b
        .else
        vrangeps zmm\d, zmm\a, zmm\b, {sae}, 0x0b
        .endif
        .endm
        // Adds to the mask `into` where low < a < high.
        .macro Within into, low, a, high
        Compare \low, \a, 0x11
        vcmpps  k2{k2}, zmm\a, zmm\high, {sae}, 0x11
        korw    \into, \into, k2
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

        // A source in memory goes to the destination first.
        .macro Function op, d, p
        .if \p == 3
        Fetch   \p, rcx, 30, kOperand
        .set    lane, 0
        .rept   vectors
        Bring   \p, rcx, %(8*\d+lane)
        .set    lane, lane+1
        .endr
        .set    from, \d
        .else
        .set    from, \p
        .endif
        .set    to, \d
        flags_\op %(from)
        .set    lane, 0
        .rept   (vectors+1)/2
        pair_\op
        .set    lane, lane+2
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

        .macro FunctionRow op
        .irp d, 0, 1, 2
        .irp p, 0, 1, 2, 3, 4
        .if \p == 4
        .pushsection .rodata
        .long   0, 0
        .popsection
        .else
        Entry   Function, \op, \d, \p
        .endif
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

        .macro Constant name, bits
\name:  .long   \bits
        .endm
        .section .rodata
        .p2align 6
        Constant minus_zero, 0x80000000
        Constant magnitude, 0x7fffffff
// Of core/math_exp.h, in its order; exp_plain bounds the |x| that raise nothing.
        Constant round, 0x4b400000
        Constant log2e, 0x3fb8aa3b
        Constant minus_ln2_high, 0xbf317200
        Constant minus_ln2_low, 0xb5bfbe8e
        Constant exp_c0, 0x3f000000
        Constant exp_c1, 0x3e2aaa58
        Constant exp_c2, 0x3d2aaa44
        Constant exp_c3, 0x3c0913ff
        Constant exp_c4, 0x3ab6cc6d
        Constant exp_max, 0x42b17217
        Constant exp_normal, 0xc2aeac4f
        Constant exp_small, 0xc2ac0000
        Constant exp_plain, 0x42ac0000
        Constant exp_zero, 0xc2d00000
        Constant one, 0x3f800000
        Constant two, 0x40000000
        Constant sixty_four, 0x42800000
        Constant down, 0x1f800000
        Constant infinity, 0x7f800000
        Constant minus_infinity, 0xff800000
        Constant tanh_one, 0x41180000
        Constant tanh_small, 0x3f000000
        Constant tanh_c0, 0xbeaaaa6d
        Constant tanh_c1, 0x3e087547
        Constant tanh_c2, 0xbd594e0e
        Constant tanh_c3, 0x3c8d5e8d
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
#define DVM_CHAIN_FUNCTION(name) FunctionRow name;
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
