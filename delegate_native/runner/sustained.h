// A sustained run, as host_tools/places/sustain.py does it: inference after inference, in windows.
#ifndef QUADRA_RUNNER_SUSTAINED_H_
#define QUADRA_RUNNER_SUSTAINED_H_

#include <string>

#include "delegate_native/runner/contender.h"

namespace quadra {

// Runs `contender` for so long; `json` becomes the text of sustained.json.
Outcome RunSustained(Contender* contender, int seconds, std::string* json);

}  // namespace quadra

#endif  // QUADRA_RUNNER_SUSTAINED_H_
