/* libLiteRtGpuAccelerator.so: Quadra as the GPU accelerator of LiteRT's CompiledModel. LiteRT finds
 * it by its name and calls what it needs; this is for whoever wants to know what came of it. */
#ifndef QUADRA_ACCELERATOR_ACCELERATOR_H_
#define QUADRA_ACCELERATOR_ACCELERATOR_H_

#include <stddef.h>

#include "delegate_native/delegate/quadra.h"

#ifdef __cplusplus
extern "C" {
#endif

/* QuadraDelegateReport of the compiled model that was made last, as long as it lives; else 0. Not
 * while it is being made, run or destroyed in another thread. */
QUADRA_EXPORT size_t QuadraAcceleratorReport(char* buffer, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* QUADRA_ACCELERATOR_ACCELERATOR_H_ */
