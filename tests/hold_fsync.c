// Preloaded: fsync of the files of a plan and its weights waits until the file that QUADRA_LET_GO
// names is there, as on a slow disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int fsync(int descriptor) {
  char link[64], path[4096] = "";
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  if (readlink(link, path, sizeof(path) - 1) > 0 &&
      (strstr(path, ".quadra.") || strstr(path, ".weights."))) {
    while (access(getenv("QUADRA_LET_GO"), F_OK) != 0) usleep(10000);
  }
  return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(descriptor);
}
