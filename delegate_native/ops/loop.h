// Loops of kernels that also run where work-items are lanes of a vector.
#ifndef QUADRA_OPS_LOOP_H_
#define QUADRA_OPS_LOOP_H_

#include <string>

namespace quadra {

// for (int `i` = `from`; `more`; `i` += `step`) { body }. Where work-items run one after another,
// as lanes of a vector, the test is behind the body, which so runs at least once: a body that
// follows its test runs once more, for no lane. For them a text does not return where a work-item
// is beyond the grid, either: a return masks all that follows, which costs the compiler much time.
// They read what is no part of the source, which an image answers with zeros, and write where
// `inside` only.
std::string Loop(bool serial, const char* i, const char* from, const char* more, int step,
                 const std::string& body);

}  // namespace quadra

#endif  // QUADRA_OPS_LOOP_H_
