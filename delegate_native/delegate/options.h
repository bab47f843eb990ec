// Options of the delegate, from key/value strings, the C struct and the environment; all three
// follow from options.def.
#ifndef QUADRA_DELEGATE_OPTIONS_H_
#define QUADRA_DELEGATE_OPTIONS_H_

#include <string>

#include "delegate_native/base/status.h"
#include "delegate_native/delegate/quadra.h"

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
Status SetOption(const std::string& key, const std::string& value, Options* options);
// From the C struct: a null string or a field of an older, shorter struct keeps its default.
Status FromC(const QuadraDelegateOptions& c, Options* options);

}  // namespace quadra

#endif  // QUADRA_DELEGATE_OPTIONS_H_
