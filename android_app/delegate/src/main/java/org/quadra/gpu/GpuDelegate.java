package org.quadra.gpu;

import java.nio.ByteBuffer;
import org.tensorflow.lite.Delegate;

/**
 * Runs TensorFlow Lite models on the GPU. Give it to an interpreter's options; close it after the
 * interpreter.
 *
 * <pre>{@code
 * try (GpuDelegate delegate = new GpuDelegate()) {
 *   Interpreter.Options options = new Interpreter.Options().addDelegate(delegate);
 *   try (Interpreter interpreter = new Interpreter(model, options)) {
 *     interpreter.run(input, output);
 *   }
 * }
 * }</pre>
 *
 * <p>Any thread may use it. An interpreter that it was given to is used by one thread at a time, as
 * always.
 */
public class GpuDelegate implements Delegate {
  /** Options, under the name that TensorFlow Lite's own GPU delegate has for them. */
  public static class Options extends GpuDelegateFactory.Options {}

  private final Object lock = new Object();
  private long handle; // 0: closed

  public GpuDelegate() {
    this(new GpuDelegateFactory.Options());
  }

  /**
   * A delegate with these options; they are copied.
   *
   * @throws IllegalArgumentException where an option has a wrong value; the message names it
   * @throws IllegalStateException where the native library cannot be loaded
   */
  public GpuDelegate(GpuDelegateFactory.Options options) {
    if (options == null) {
      throw new IllegalArgumentException(
          "Quadra: the options are null; next: leave them out for the defaults");
    }
    handle = QuadraNative.create(options.toMap(), options.getVerdictListener());
  }

  /** The TfLiteDelegate, for interpreters and native code. */
  @Override
  public long getNativeHandle() {
    synchronized (lock) {
      return openHandle("ask it for its native handle");
    }
  }

  /**
   * The report on the model that this delegate was last given: where each node runs and why,
   * partitions, plans. Not while an interpreter is being made with it, or runs, in another thread.
   */
  public DelegateReport getReport() {
    String json;
    synchronized (lock) {
      json = QuadraNative.reportOf(openHandle("ask it for its report"));
    }
    return new DelegateReport(json);
  }

  /**
   * Copies the numbers of a state that {@link GpuDelegateFactory.Options#setStates} keeps on the
   * GPU into a direct buffer, from its position to its limit, which must be as many bytes as the
   * tensor has. States begin with zeros. Not during an inference.
   *
   * @param name as all signatures have it: what is behind "decode_" where the option is "kv_cache_"
   *     and an input is named decode_kv_cache_k_0
   * @throws IllegalArgumentException where there is no such state, it has another size, or the
   *     buffer is not direct; the message says which
   */
  public void readState(String name, ByteBuffer numbers) {
    check("readState", name, numbers);
    if (numbers.isReadOnly()) {
      throw new IllegalArgumentException("Quadra: readState: the buffer is read-only");
    }
    synchronized (lock) {
      QuadraNative.readState(openHandle("read a state"), name, numbers.slice());
    }
  }

  /** Gives a state the numbers of a direct buffer, from its position to its limit, the same way. */
  public void writeState(String name, ByteBuffer numbers) {
    check("writeState", name, numbers);
    synchronized (lock) {
      QuadraNative.writeState(openHandle("write a state"), name, numbers.slice());
    }
  }

  /** Gives all states zeros, as for another conversation or stream. */
  public void clearStates() {
    synchronized (lock) {
      QuadraNative.writeState(openHandle("clear its states"), null, null);
    }
  }

  private static void check(String tried, String name, ByteBuffer numbers) {
    if (name == null || numbers == null || !numbers.isDirect()) {
      throw new IllegalArgumentException(
          "Quadra: "
              + tried
              + ": it needs a name and a direct buffer; next: ByteBuffer.allocateDirect(bytes)"
              + ".order(ByteOrder.nativeOrder())");
    }
  }

  public boolean isClosed() {
    synchronized (lock) {
      return handle == 0;
    }
  }

  /**
   * Gives back what it holds. Close the interpreters that use it first. Closing it again does
   * nothing.
   */
  @Override
  public void close() {
    synchronized (lock) {
      if (handle != 0) {
        QuadraNative.destroy(handle);
        handle = 0;
      }
    }
  }

  private long openHandle(String tried) {
    if (handle == 0) {
      throw new IllegalStateException(
          "Quadra: "
              + tried
              + ": this delegate is closed; next: make a new one, or close it later");
    }
    return handle;
  }
}
