// OpenGL ES 3.1, loaded at run time.
#ifndef QUADRA_RUNTIME_GLES_GLES_BACKEND_H_
#define QUADRA_RUNTIME_GLES_GLES_BACKEND_H_

#include <memory>
#include <string>

#include "delegate_native/runtime/backend.h"

namespace quadra {

// Opens the EGL library (`library`, or the usual names when empty) and a context of its own on a
// thread of its own: whichever context the caller has current stays so. Where `shared` has an EGL
// context, the new one shares objects with it.
Status MakeGlesBackend(const std::string& library, const Contexts& shared,
                       std::shared_ptr<Backend>* backend);

}  // namespace quadra

#endif  // QUADRA_RUNTIME_GLES_GLES_BACKEND_H_
