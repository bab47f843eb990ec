// One defect per sanitizer, for the test of the instrument: tests/test_sanitizers.py loads this as
// it loads the delegate.
#include <cstdlib>
#include <thread>

#define PLANTED extern "C" __attribute__((visibility("default"), noinline))

// Of a size that only the running program knows: else the compiler sees it, and another sanitizer
// is quicker.
PLANTED int HeapOverflow(int size, int index) {
  volatile int* cells = static_cast<int*>(calloc(size, sizeof(int)));
  const int found = cells[index];
  free(const_cast<int*>(cells));
  return found;
}

PLANTED int SignedOverflow(int a, int b) { return a + b; }

PLANTED int FloatToInt(float value) { return static_cast<int>(value); }

// Two threads count without a lock.
PLANTED int Race(int times) {
  int count = 0;
  const auto work = [&count, times] {
    for (int i = 0; i < times; ++i) ++*static_cast<volatile int*>(&count);
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  return count;
}
