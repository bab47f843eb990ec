// How long the steps of a session's last build took.
#ifndef QUADRA_SESSION_SESSION_TIMES_H_
#define QUADRA_SESSION_SESSION_TIMES_H_

#include <cstdint>
#include <vector>

namespace quadra {

class SessionTimes {
 public:
  // On the host's monotonic clock. A step may be there several times.
  struct Span {
    const char* name;
    int64_t start_us, end_us;
  };

  // Adds a span that lasts as long as it lives.
  class Lap {
   public:
    Lap(SessionTimes* times, const char* name);
    ~Lap();
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;

   private:
    SessionTimes* times_;
    Span span_;
  };

  void Add(const Span& span);
  // Before another build, which imports nothing: the import, always the first, stays.
  void Restart();
  // The spans of the step together.
  int64_t SumOf(const char* name) const;
  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::vector<Span> spans_;
};

}  // namespace quadra

#endif  // QUADRA_SESSION_SESSION_TIMES_H_
