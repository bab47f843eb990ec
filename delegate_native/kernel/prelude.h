// The texts that give a body's words their meaning in each language.
#ifndef QUADRA_KERNEL_PRELUDE_H_
#define QUADRA_KERNEL_PRELUDE_H_

namespace quadra {

extern const char* const kOpenClPrelude;
extern const char* const kOpenClHalfs;  // where tensors are kept as halfs
extern const char* const kGlesPrelude;
// `word` is how a kernel that needs the part is known.
struct PreludePart {
  const char* word;
  const char* opencl;
  const char* gles;
};
extern const PreludePart kPreludeParts[];  // ended by nulls

// Kernels of wide vectors need these (cpu/). They are empty in libraries for phones.
extern const char* const kOpenClWide;       // follows kOpenClPrelude
extern const char* const kOpenClLanes;      // where tensors are floats
extern const char* const kOpenClHalfLanes;  // where tensors are halfs
extern const PreludePart kWideParts[];      // these may use those of kPreludeParts

// For any language, for floats and for ints; so are the parts: see InLanguage.
extern const char* const kLaneFunctions;

}  // namespace quadra

#endif  // QUADRA_KERNEL_PRELUDE_H_
