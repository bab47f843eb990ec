#include "delegate_native/base/lean/sorted.h"

#include <set>

namespace quadra {

void SortOnce(std::vector<int>* numbers) {
  const std::set<int> sorted(numbers->begin(), numbers->end());
  numbers->assign(sorted.begin(), sorted.end());
}

}  // namespace quadra
