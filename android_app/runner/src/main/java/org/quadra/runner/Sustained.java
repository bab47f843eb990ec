package org.quadra.runner;

import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** A sustained run, as host_tools/places/sustain.py does it: inference after inference. */
final class Sustained {
  private static final int MOST_WINDOWS = 600;
  private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

  private Sustained() {}

  /** The value of sustained.json. */
  static JSONObject run(Contender contender, int seconds, Facts facts)
      throws RunError, JSONException {
    double window = Math.max(1.0, seconds / (double) MOST_WINDOWS);
    JSONArray windows = new JSONArray();
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    for (long began; (began = System.nanoTime()) < end; ) {
      long windowEnd = Math.min(began + (long) (window * NANOS), end);
      long[] times = new long[16];
      int count = 0;
      while (System.nanoTime() < windowEnd) {
        times = count == times.length ? Arrays.copyOf(times, 2 * count) : times;
        times[count++] = Clock.micros(contender.run());
      }
      if (count > 0) {
        windows.put(window(began, Arrays.copyOf(times, count), facts.batteryMicroamperes()));
      }
    }
    JSONObject value = new JSONObject().put("schema_version", RunSpec.SCHEMA_VERSION);
    return value.put("window_s", window).put("windows", windows);
  }

  private static JSONObject window(long began, long[] times, Long battery) throws JSONException {
    Arrays.sort(times);
    JSONObject value = new JSONObject().put("start_ns", began).put("inferences", times.length);
    long middle = (times[(times.length - 1) / 2] + times[times.length / 2]) / 2;
    value.put("median_us", middle).put("slowest_us", times[times.length - 1]);
    return battery == null ? value : value.put("battery_ua", battery.longValue());
  }
}
