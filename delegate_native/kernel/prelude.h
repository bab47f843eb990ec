// The texts that give a body's words their meaning in each language.
#ifndef QUADRA_KERNEL_PRELUDE_H_
#define QUADRA_KERNEL_PRELUDE_H_

namespace quadra {

extern const char kOpenClPrelude[];
extern const char kOpenClLanes[];      // follows kOpenClPrelude where tensors are floats
extern const char kOpenClHalfLanes[];  // where they are halfs
extern const char kGlesPrelude[];

}  // namespace quadra

#endif  // QUADRA_KERNEL_PRELUDE_H_
