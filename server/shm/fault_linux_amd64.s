#include "textflag.h"

// onSIGBUS is a handler in C's calling convention: DI is the signal, SI the siginfo, DX the
// context. It may change all registers: the kernel restores them.
TEXT onSIGBUS<>(SB),NOSPLIT|NOFRAME,$0
	CMPL	8(SI), $0 // si_code: 0 and less if a process sent the signal
	JLE	forward
	MOVQ	16(SI), R8 // si_addr
	LEAQ	·mappings(SB), R9
	MOVQ	·mapped(SB), R10
next:
	SUBQ	$1, R10
	JLT	forward
	MOVQ	8(R9), AX // size
	MOVQ	0(R9), BX // start
	MOVQ	R8, CX
	SUBQ	BX, CX
	CMPQ	CX, AX
	JCC	other
	CMPQ	8(R9), AX // start did not change
	JEQ	found
other:
	ADDQ	$24, R9
	JMP	next

found:
	MOVL	$1, 16(R9) // lost
	MOVQ	DI, R12
	MOVQ	SI, R13
	MOVQ	DX, BP
	MOVQ	BX, DI
	MOVQ	AX, SI
	MOVL	$3, DX // PROT_READ|PROT_WRITE
	MOVL	$0x4032, R10 // MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS|MAP_NORESERVE
	MOVQ	$-1, R8
	XORL	R9, R9
	MOVL	$9, AX // mmap
	SYSCALL
	CMPQ	AX, $0xfffffffffffff001
	JCC	failed
	RET

failed:
	MOVQ	R12, DI
	MOVQ	R13, SI
	MOVQ	BP, DX
forward:
	MOVQ	·previous(SB), AX
	JMP	AX

DATA	·onSIGBUSP(SB)/8, $onSIGBUS<>(SB)
GLOBL	·onSIGBUSP(SB), NOPTR, $8
