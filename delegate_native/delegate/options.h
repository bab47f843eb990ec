// Options of the delegate, read from key/value strings, the C struct and the environment by the
// table options.def, which says what a new option takes.
#ifndef QUADRA_DELEGATE_OPTIONS_H_
#define QUADRA_DELEGATE_OPTIONS_H_

#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/delegate/quadra.h"
#include "delegate_native/kernel/dialect.h"

namespace quadra {

namespace option_type {  // C++ type of each kind of option
using Word = std::string;
using Text = std::string;
using Int = int;
using Flag = int;
}  // namespace option_type

struct Options {
#define QUADRA_OPTION(field, kind, default_value, values, help) option_type::kind field{};
#include "delegate_native/delegate/options.def"
#undef QUADRA_OPTION
};

// Defaults, overridden by QUADRA_<NAME> of the environment.
Status DefaultOptions(Options* options);
// Sets one option from its string form; an unknown key or a bad value is an error that names it.
// Takes the bit field `experimental_flags` of TFLite's GPU delegate, too.
Status SetOption(const std::string& key, const std::string& value, Options* options);
// From the C struct: a null string or a field of an older, shorter struct keeps its default.
Status FromC(const QuadraDelegateOptions& c, Options* options);
// To the C struct: strings stay NULL, for their default; numbers are filled in.
void ToC(const Options& options, QuadraDelegateOptions* c);

// All that a model's verdicts may hang on: " backend=auto …", without where they are kept.
std::string ToText(const Options& options);

// Whether the options agree with each other.
Status CheckOptions(const Options& options);
// The precision that `precision`, `is_precision_loss_allowed` and the priorities ask for.
Precision PrecisionOf(const Options& options);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_OPTIONS_H_
