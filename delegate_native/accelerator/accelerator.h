/* libLiteRtGpuAccelerator.so: Quadra as the GPU accelerator of LiteRT's CompiledModel. LiteRT finds
 * it by its name and calls what it needs; this is for whoever wants to know what came of it, or
 * to reach the states that stay on the GPU. */
#ifndef QUADRA_ACCELERATOR_ACCELERATOR_H_
#define QUADRA_ACCELERATOR_ACCELERATOR_H_

#include <stddef.h>

#include "delegate_native/delegate/quadra.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The delegate of a compiled model, for the functions of quadra.h (states, report, contexts): of
 * the one that was made last of those that live (age 0), of the one before it (1), and so on; NULL:
 * there are no more. It is the model's: it goes with it. */
QUADRA_EXPORT TfLiteDelegate* QuadraAcceleratorDelegate(size_t age);

/* QuadraDelegateReport of the compiled model that was made last of those that live; without one 0.
 * Not while it is being made, run or destroyed in another thread. */
QUADRA_EXPORT size_t QuadraAcceleratorReport(char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* QUADRA_ACCELERATOR_ACCELERATOR_H_ */
