#include "delegate_native/ops/loop.h"

#include "delegate_native/base/texts.h"
#include "delegate_native/kernel/text.h"

namespace quadra {

std::string Loop(bool serial, const char* i, const char* from, const char* more, int step,
                 const std::string& body) {
  Text text(serial ? QUADRA_TEXT("int $variable = $from;\ndo {\n$body$variable += $step;\n} while "
                                 "($more);\n")
                   : "for (int $variable = $from; $more; $next) {\n$body}\n");
  text.Set("next", step == 1 ? "++$variable" : "$variable += $step").Set("step", step);
  return text.Set("variable", i).Set("from", from).Set("more", more).Set("body", body);
}

}  // namespace quadra
