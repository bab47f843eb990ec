// Sorting of short lists: std::sort's code would be 3 KB for each type.
#ifndef QUADRA_BASE_LEAN_SORTED_H_
#define QUADRA_BASE_LEAN_SORTED_H_

#include <vector>

namespace quadra {

// Each number once, in ascending order.
void SortOnce(std::vector<int>* numbers);

}  // namespace quadra

#endif  // QUADRA_BASE_LEAN_SORTED_H_
