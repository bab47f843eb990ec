package org.quadra.gpu;

/**
 * The processor time of this process, all its threads together. Android's own clock of it counts
 * milliseconds.
 */
public final class ProcessClock {
  private ProcessClock() {}

  public static long cpuTimeNanos() {
    QuadraNative.load();
    return QuadraNative.cpuTimeNanos();
  }
}
