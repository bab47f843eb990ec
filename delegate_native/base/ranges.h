// Lists of numbers and ranges of numbers: "3,7-9".
#ifndef QUADRA_BASE_RANGES_H_
#define QUADRA_BASE_RANGES_H_

namespace quadra {

// 1: the list names the number; 0: it does not; -1: it is no such list. An empty one names nothing.
int InRanges(const char* list, int number);

}  // namespace quadra

#endif  // QUADRA_BASE_RANGES_H_
