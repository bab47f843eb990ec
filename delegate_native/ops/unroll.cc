#include "delegate_native/ops/unroll.h"

#include "delegate_native/base/status.h"
#include "delegate_native/kernel/text.h"

namespace quadra {

std::string Unroll(int n, const char* pattern) { return Unroll(n, 1, pattern); }

std::string Unroll(int n, int m, const char* pattern) {
  std::string text;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) {
      for (const char* c = pattern; *c; ++c) {
        if (*c == '$' || *c == '@') text += Format("%d", *c == '$' ? i : j);
        else text += *c;
      }
    }
  }
  return text;
}

std::string Filled(const char* text, std::initializer_list<const char*> words) {
  std::string filled;
  for (const char* c = text; *c; ++c) {
    if (*c == '$') filled += words.begin()[*++c - '0'];
    else filled += *c;
  }
  return filled;
}

std::string Block(const char* head, const std::string& body) {
  return head + (" {\n" + body) + "}\n";
}

std::string Loop(bool serial, const char* i, const char* from, const char* more, int step,
                 const std::string& body) {
  Text text(serial ? QUADRA_TEXT("int $variable = $from;\ndo {\n$body$variable += $step;\n} while "
                                 "($more);\n")
                   : "for (int $variable = $from; $more; $next) {\n$body}\n");
  text.Set("next", step == 1 ? "++$variable" : "$variable += $step").Set("step", step);
  return text.Set("variable", i).Set("from", from).Set("more", more).Set("body", body);
}

}  // namespace quadra
