// In the place of llvmpipe/, in libraries for phones.
#include "delegate_native/runtime/gles/gl_first_launches.h"

namespace quadra {

void GlExecutable::FirstLaunches::LaunchAll() { Work(context().gl); }

}  // namespace quadra
