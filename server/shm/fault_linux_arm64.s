#include "textflag.h"

// onSIGBUS is a handler in C's calling convention: R0 is the signal, R1 the siginfo, R2 the
// context. It may change all registers but LR: the kernel restores them.
TEXT onSIGBUS<>(SB),NOSPLIT|NOFRAME,$0
	MOVW	8(R1), R3 // si_code: 0 and less if a process sent the signal
	CMPW	$0, R3
	BLE	forward
	MOVD	16(R1), R4 // si_addr
	MOVD	$·mappings(SB), R5
	MOVD	·mapped(SB), R6
next:
	SUBS	$1, R6, R6
	BLT	forward
	ADD	$8, R5, R7
	LDAR	(R7), R8 // size
	LDAR	(R5), R9 // start
	LDAR	(R7), R10
	SUB	R9, R4, R11
	CMP	R8, R11
	BHS	other
	CMP	R8, R10 // start did not change
	BEQ	found
other:
	ADD	$24, R5
	B	next

found:
	MOVW	$1, R10
	MOVW	R10, 16(R5) // lost
	MOVD	R0, R19
	MOVD	R1, R20
	MOVD	R2, R21
	MOVD	R9, R0
	MOVD	R8, R1
	MOVD	$3, R2 // PROT_READ|PROT_WRITE
	MOVD	$0x4032, R3 // MAP_PRIVATE|MAP_FIXED|MAP_ANONYMOUS|MAP_NORESERVE
	MOVD	$-1, R4
	MOVD	$0, R5
	MOVD	$222, R8 // mmap
	SVC
	CMN	$4095, R0
	BCS	failed
	RET

failed:
	MOVD	R19, R0
	MOVD	R20, R1
	MOVD	R21, R2
forward:
	MOVD	·previous(SB), R3
	B	(R3)

DATA	·onSIGBUSP(SB)/8, $onSIGBUS<>(SB)
GLOBL	·onSIGBUSP(SB), NOPTR, $8
