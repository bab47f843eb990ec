// First launches by several threads, each with a context of its own, where a program is compiled
// at its first launch: what one of them compiled, the others find in the driver's cache.
#include <unistd.h>

#include <algorithm>

#include "delegate_native/base/lean/thread.h"
#include "delegate_native/runtime/gles/gl_first_launches.h"

namespace quadra {
namespace {

constexpr long kMostHelpers = 3;

}  // namespace

// Contexts of the app would share with those of the other threads.
void GlExecutable::FirstLaunches::LaunchAll() {
  // Where there is no context for a thread, the others do its work.
  const auto help = [](void* launches) -> void* {
    FirstLaunches& all = *static_cast<FirstLaunches*>(launches);
    GlContext context;
    if (!context.OpenBeside(all.context()).ok()) return nullptr;
    all.Work(context.gl);
    context.gl.Finish();
    return nullptr;
  };
  const GlContext& own = context();
  const bool helps = own.info.compiles_at_dispatch && !own.is_shared();
  const long most = helps ? std::min(kMostHelpers, sysconf(_SC_NPROCESSORS_ONLN) - 1) : 0;
  pthread_t helpers[kMostHelpers];
  int count = 0;
  if (most > 0) own.gl.Flush();
  while (count < std::min(most, static_cast<long>(size()) - 1) &&
         StartThread("quadra-gles-cc", help, this, &helpers[count]) == 0) {
    ++count;
  }
  Work(own.gl);
  while (count > 0) pthread_join(helpers[--count], nullptr);
}

}  // namespace quadra
