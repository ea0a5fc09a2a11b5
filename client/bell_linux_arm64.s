#include "textflag.h"

// func ring()
// Called by the kernel, on the signal stack, in whatever state the thread is.
TEXT ·ring(SB), NOSPLIT|NOFRAME, $0
	MOVD ·mark(SB), R0
	MOVW $1, R1
	MOVW R1, (R0)
	RET

// func ringAddress() uintptr
TEXT ·ringAddress(SB), NOSPLIT, $0-8
	MOVD $·ring(SB), R0
	MOVD R0, ret+0(FP)
	RET
