// Tiles, strips and their texts where work-items run one after another, as lanes of a vector
// (llvmpipe).
#ifndef QUADRA_OPS_CPU_SERIAL_TILES_H_
#define QUADRA_OPS_CPU_SERIAL_TILES_H_

#include "delegate_native/ops/cpu_kernels.h"

namespace quadra {

// As large as registers and the compiler's time allow.
QuadTile SerialTile(int w, bool pixel, const Conv& conv);
int SerialStrip(Strip strip, int w);
extern const SerialTexts kSerialTexts;

}  // namespace quadra

#endif  // QUADRA_OPS_CPU_SERIAL_TILES_H_
