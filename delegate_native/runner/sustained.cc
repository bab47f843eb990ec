#include "delegate_native/runner/sustained.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "delegate_native/base/json_writer.h"
#include "delegate_native/base/lean/clock.h"

namespace quadra {
namespace {

constexpr int kMostWindows = 600;
constexpr int64_t kNsPerS = 1000000000;

// `times_us` from the shortest to the longest.
void PutWindow(int64_t began_ns, const std::vector<int64_t>& times_us, JsonWriter* json) {
  const size_t count = times_us.size();
  json->BeginObject().Key("start_ns").Number(began_ns);
  json->Key("inferences").Number(static_cast<int64_t>(count));
  json->Key("median_us").Number((times_us[(count - 1) / 2] + times_us[count / 2]) / 2);
  json->Key("slowest_us").Number(times_us.back()).EndObject();
}

}  // namespace

Outcome RunSustained(Contender* contender, int seconds, std::string* json) {
  const int64_t window_ns = std::max(kNsPerS, seconds * kNsPerS / kMostWindows);
  const int64_t end_ns = NowNs() + seconds * kNsPerS;
  JsonWriter writer;
  writer.BeginObject().Key("schema_version").Number(1);
  writer.Key("window_s").Real(static_cast<double>(window_ns) / static_cast<double>(kNsPerS));
  writer.Key("windows").BeginArray();
  for (int64_t began_ns = NowNs(); began_ns < end_ns; began_ns = NowNs()) {
    const int64_t window_end_ns = std::min(began_ns + window_ns, end_ns);
    std::vector<int64_t> times_us;
    for (int64_t start_ns = began_ns; start_ns < window_end_ns; start_ns = NowNs()) {
      QUADRA_RETURN_IF_FAILED(contender->Run());
      const int64_t time_us = (NowNs() - start_ns) / 1000;
      // In its place: std::sort is not in every C++ library that runners are linked with.
      times_us.insert(std::upper_bound(times_us.begin(), times_us.end(), time_us), time_us);
    }
    PutWindow(began_ns, times_us, &writer);
  }
  writer.EndArray().EndObject();
  *json = writer.text();
  return Outcome();
}

}  // namespace quadra
