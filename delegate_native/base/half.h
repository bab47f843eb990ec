// IEEE half precision, converted in software (round to nearest even), so that no compiler or
// CPU feature is asked for.
#ifndef QUADRA_BASE_HALF_H_
#define QUADRA_BASE_HALF_H_

#include <cstdint>

namespace quadra {

float HalfToFloat(uint16_t half);
uint16_t FloatToHalf(float value);

}  // namespace quadra

#endif  // QUADRA_BASE_HALF_H_
