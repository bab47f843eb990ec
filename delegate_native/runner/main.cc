// Runs one model from a phone's shell, without an app: TFLite's runtime and Quadra are loaded by
// path, everything else is in the run folder. `stage: …` lines say what is being done; an error is
// a sentence, an exit status (2: what was asked cannot be done, 77: the run failed) and error.json.
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "delegate_native/runner/batch.h"
#include "delegate_native/runner/files.h"
#include "delegate_native/runner/spec.h"
#include "delegate_native/runner/worker.h"

namespace quadra {
namespace {

constexpr int kGraceS = 10;  // after the deadline, for whoever started us to end us

// 4-7,0: this process runs there only, and so do all threads that it starts.
Outcome KeepToCores(const std::string& cores) {
  if (cores.empty()) return Outcome();
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const char* at = cores.c_str(); *at;) {
    char* end = nullptr;
    const long first = strtol(at, &end, 10);
    const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
    for (long core = first; core <= last && core < CPU_SETSIZE; ++core) CPU_SET(core, &set);
    at = *end ? end + 1 : end;
  }
  if (sched_setaffinity(0, sizeof(set), &set) == 0) return Outcome();
  return Outcome::Misuse("run on the processor cores " + cores, strerror(errno),
                         "give cores that are there, or omit --cpus");
}

Outcome Main(int count, char** words, Arguments* arguments) {
  QUADRA_RETURN_IF_FAILED(ParseArguments(count, words, arguments));
  if (!arguments->cases.empty()) return RunBatch(*arguments);
  Spec spec;
  QUADRA_RETURN_IF_FAILED(ReadSpec(*arguments, &spec));
  // Nobody may be there any more to end a process that hangs in a driver.
  alarm(static_cast<unsigned>(spec.deadline_s + spec.sustained_s + kGraceS));
  QUADRA_RETURN_IF_FAILED(KeepToCores(spec.cpus));
  return Worker(*arguments, spec).Work();
}

}  // namespace
}  // namespace quadra

int main(int count, char** words) {
  quadra::Stage("start");
  quadra::Arguments arguments;
  quadra::Outcome outcome = quadra::Main(count, words, &arguments);
  if (outcome.ok()) return 0;
  fprintf(stderr, "error: %s\n", outcome.Sentence().c_str());
  if (!arguments.folder.empty()) {
    const quadra::Outcome kept =
        quadra::WriteFile(arguments.folder, "error.json", outcome.Json() + "\n");
    if (!kept.ok()) fprintf(stderr, "error: %s\n", kept.Sentence().c_str());
  }
  return outcome.exit_code();
}
