// Reads the cases of tests/passes/<pass>.txt: graphs before and after one pass, as text.
//   == what the case shows
//   <graph>
//   -- becomes            or        -- stays
//   <graph>
#ifndef QUADRA_TESTS_NATIVE_PASS_CASES_H_
#define QUADRA_TESTS_NATIVE_PASS_CASES_H_

#include <fstream>
#include <string>
#include <vector>

namespace quadra {

struct PassCase {
  std::string title, before, after;
  bool stays = false;
};

inline std::vector<PassCase> ReadPassCases(const std::string& pass) {
  std::ifstream file("tests/passes/" + pass + ".txt");
  std::vector<PassCase> cases;
  std::string line;
  bool is_after = false;
  while (std::getline(file, line)) {
    if (line.rfind("== ", 0) == 0) {
      cases.emplace_back();
      cases.back().title = line.substr(3);
      is_after = false;
    } else if (cases.empty()) {
      continue;
    } else if (line == "-- becomes" || line == "-- stays") {
      is_after = true;
      cases.back().stays = line == "-- stays";
    } else {
      (is_after ? cases.back().after : cases.back().before) += line + "\n";
    }
  }
  return cases;
}

}  // namespace quadra

#endif  // QUADRA_TESTS_NATIVE_PASS_CASES_H_
