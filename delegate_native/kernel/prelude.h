// The texts that give a body's words their meaning in each language.
#ifndef QUADRA_KERNEL_PRELUDE_H_
#define QUADRA_KERNEL_PRELUDE_H_

namespace quadra {

extern const char kOpenClPrelude[];
extern const char kOpenClLanes[];      // follows kOpenClPrelude where tensors are floats
extern const char kOpenClHalfLanes[];  // where they are halfs
extern const char kGlesPrelude[];
// `word` is how a kernel that needs the part is known.
struct PreludePart {
  const char* word;
  const char* opencl;
  const char* gles;
};
extern const PreludePart kPreludeParts[];  // ended by nulls

extern const char kLaneFunctions[];  // of any language, for floats and for ints

}  // namespace quadra

#endif  // QUADRA_KERNEL_PRELUDE_H_
