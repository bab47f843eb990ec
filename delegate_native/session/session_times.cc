#include "delegate_native/session/session_times.h"

#include <cstring>

#include "delegate_native/base/lean/clock.h"

namespace quadra {

SessionTimes::Lap::Lap(SessionTimes* times, const char* name)
    : times_(times), span_{name, NowUs(), 0} {}

SessionTimes::Lap::~Lap() {
  span_.end_us = NowUs();
  times_->Add(span_);
}

void SessionTimes::Add(const Span& span) { spans_.push_back(span); }

void SessionTimes::Restart() {
  const bool has_import = !spans_.empty() && strcmp(spans_[0].name, "import") == 0;
  spans_.erase(spans_.begin() + has_import, spans_.end());
}

int64_t SessionTimes::SumOf(const char* name) const {
  int64_t sum = 0;
  for (const Span& span : spans_) {
    if (strcmp(span.name, name) == 0) sum += span.end_us - span.start_us;
  }
  return sum;
}

}  // namespace quadra
