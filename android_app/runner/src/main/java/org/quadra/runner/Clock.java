package org.quadra.runner;

import java.util.concurrent.TimeUnit;
import org.json.JSONException;
import org.json.JSONObject;
import org.quadra.gpu.ProcessClock;

/** Laps in whole microseconds; the processor time of the whole, and of the last lap. */
final class Clock {
  private final JSONObject laps = new JSONObject();
  private final JSONObject starts = new JSONObject(); // when each began: ns of nanoTime
  private final long cpu = ProcessClock.cpuTimeNanos();
  private long last = System.nanoTime();
  private long lastCpu = cpu;
  private long lapCpu;
  private long total;

  void lap(String name) throws JSONException {
    long now = System.nanoTime();
    long nowCpu = ProcessClock.cpuTimeNanos();
    long us = micros(now - last);
    laps.put(name, us);
    starts.put(name, last);
    total += us;
    last = now;
    lapCpu = nowCpu - lastCpu;
    lastCpu = nowCpu;
  }

  /** The laps; they grow until the end. */
  JSONObject laps() {
    return laps;
  }

  /**
   * Adds the sum of the laps, when each began, and the processor time; the last lap is the first
   * inference.
   */
  void end() throws JSONException {
    laps.put("total_us", total).put("cpu_us", micros(ProcessClock.cpuTimeNanos() - cpu));
    laps.put("first_invoke_cpu_us", micros(lapCpu)).put("starts_ns", starts);
  }

  static long micros(long nanos) {
    return TimeUnit.NANOSECONDS.toMicros(nanos);
  }
}
