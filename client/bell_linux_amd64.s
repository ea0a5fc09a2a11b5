#include "textflag.h"

// func ring()
// Called by the kernel, on the signal stack, in whatever state the thread is.
TEXT ·ring(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·mark(SB), AX
	MOVL $1, (AX)
	RET

// func ringAddress() uintptr
TEXT ·ringAddress(SB), NOSPLIT, $0-8
	LEAQ ·ring(SB), AX
	MOVQ AX, ret+0(FP)
	RET
