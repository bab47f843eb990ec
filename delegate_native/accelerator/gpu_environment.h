// The GPU's contexts that a LiteRT environment has, from its app or from here.
#ifndef QUADRA_ACCELERATOR_GPU_ENVIRONMENT_H_
#define QUADRA_ACCELERATOR_GPU_ENVIRONMENT_H_

#include "delegate_native/accelerator/litert_abi.h"

namespace quadra {

// The delegate runs in what the app gave to the environment, if anything.
void UseContextsOf(const LiteRtRuntimeContext* context, LiteRtEnvironment environment,
                   TfLiteDelegate* delegate);

// An OpenCL context of an environment, if it is the app's; null: it is one that Quadra gave, which
// may have lost its device since: Quadra has its own anyway.
void* AppsOnly(void* context);

// Whether LiteRT can wait for OpenCL events: it opens OpenCL, and makes a queue, with the contexts
// that an environment gets. It gets these where it has none.
bool KnowsOpenCl(const LiteRtRuntimeContext& litert, LiteRtEnvironment environment,
                 const QuadraContexts& contexts);

}  // namespace quadra

#endif  // QUADRA_ACCELERATOR_GPU_ENVIRONMENT_H_
