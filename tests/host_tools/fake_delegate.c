/* Stands in for libquadra.so in tests of the toolkit: takes no node, so the interpreter's own
 * kernels run. The option `backend` makes it misbehave: gles refuses, and the environment variable
 * FAKE_DELEGATE crashes or hangs while nodes are offered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Delegate {
  void* data;
  int (*prepare)(void* context, struct Delegate* delegate);
  void* copies[3];
  long long flags;
  void* opaque;
};

static int Prepare(void* context, struct Delegate* delegate) {
  (void)context, (void)delegate;
  const char* mood = getenv("FAKE_DELEGATE");
  if (mood && !strcmp(mood, "crash")) abort();
  if (mood && !strcmp(mood, "hang")) sleep(600);
  return 0;
}

struct Delegate* tflite_plugin_create_delegate(char** keys, char** values, size_t count,
                                               void (*report)(const char*)) {
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(keys[i], "backend") && !strcmp(values[i], "gles")) {
      report("backend: gles is not in this fake");
      return NULL;
    }
  struct Delegate* delegate = calloc(1, sizeof *delegate);
  delegate->prepare = Prepare;
  return delegate;
}

void tflite_plugin_destroy_delegate(struct Delegate* delegate) { free(delegate); }

size_t QuadraDelegateReport(struct Delegate* delegate, char* buffer, size_t size) {
  static const char kReport[] =
      "{\"schema_version\":1,\"version\":\"0.0.0\",\"backend\":\"opencl\",\"backend_notes\":[],\"precision\":\"f32\","
      "\"target\":\"fake\",\"device\":{\"name\":\"fake\",\"vendor\":\"\",\"version\":\"\",\"driver\":\"\"},"
      "\"nodes\":[{\"index\":0,\"op\":\"ADD\",\"name\":\"<b>sum</b>\",\"on\":\"cpu\",\"partition\":-1,"
      "\"reason\":\"the fake takes nothing\"}],\"partitions\":[],\"profile\":[]}";
  (void)delegate;
  if (size) snprintf(buffer, size, "%s", kReport);
  return sizeof kReport;
}
