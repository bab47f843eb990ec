#include "delegate_native/ops/tile_text.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {

const char* const kLoop = QUADRA_TEXT("for (int $variable = $from; $more; $next) {\n$body}\n");

const char* const kGuard = QUADRA_TEXT("if ($beyond) { return; }\n");

const char* const kWritePixels = QUADRA_TEXT(R"($for(i, pixels)
$if(i) if ($exists) {
$write
$if(i) }
$end
)");

std::string Loop(const char* loop, const char* i, const char* from, const char* more, int step,
                 const std::string& body) {
  Text text(loop);
  text.Set("next", step == 1 ? "++$variable" : "$variable += $step").Set("step", step);
  return text.Set("variable", i).Set("from", from).Set("more", more).Set("body", body);
}

}  // namespace quadra
