// Runs many small cases in one process: `inv parity --on`. Models and inputs are in one file (the
// pack), the list of cases is JSON; results are lines on stdout, so that what was computed before a
// crash, or before the device went away, is at its reader already:
//   begin N               the case of this number is started
//   data BASE64           the bytes of its outputs, then the delegate's report, in as many lines as
//                         it takes
//   end N CRC32 JSON      what came of it; the CRC is that of the data and the JSON
#ifndef QUADRA_RUNNER_BATCH_H_
#define QUADRA_RUNNER_BATCH_H_

#include "delegate_native/runner/spec.h"

namespace quadra {

// A case that fails is a result; an error is one of the whole list.
Outcome RunBatch(const Arguments& arguments);

}  // namespace quadra

#endif  // QUADRA_RUNNER_BATCH_H_
