package org.quadra.gpu;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.json.JSONObject;

/** The native library: loaded when it is first needed, called through registered natives. */
final class QuadraNative {
  private static final String LIBRARY = "quadra";

  private QuadraNative() {}

  /**
   * A delegate's handle; {@link IllegalArgumentException} with its sentence where an option is
   * wrong. The listener may be null.
   */
  static long create(Map<String, String> options, VerdictListener listener) {
    load();
    byte[][] error = new byte[1][];
    long handle = create(words(options), listener, error);
    check(error);
    return handle;
  }

  /** Which backends work on this device, as JSON. */
  static String probe(Map<String, String> options) {
    load();
    byte[][] error = new byte[1][];
    byte[] json = probe(words(options), error);
    check(error);
    return text(json);
  }

  static String reportOf(long handle) {
    return text(report(handle));
  }

  /** The numbers of a state, into the whole of a direct buffer. */
  static void readState(long handle, String name, ByteBuffer numbers) {
    byte[][] error = new byte[1][];
    readState(handle, name.getBytes(StandardCharsets.UTF_8), numbers, error);
    check(error);
  }

  /**
   * The numbers of a state, from the whole of a direct buffer; null: zeros, without a name in all.
   */
  static void writeState(long handle, String name, ByteBuffer numbers) {
    byte[][] error = new byte[1][];
    byte[] utf8 = name == null ? null : name.getBytes(StandardCharsets.UTF_8);
    writeState(handle, utf8, numbers, error);
    check(error);
  }

  /** Loads the library; {@link IllegalStateException} says why it cannot be loaded. */
  static void load() {
    if (Library.FAILURE != null) {
      throw new IllegalStateException(
          "Quadra: load lib"
              + LIBRARY
              + ".so: "
              + Library.FAILURE.getMessage()
              + "; next: see that the app has it for this device's ABI (lib/<abi>/ in the APK)",
          Library.FAILURE);
    }
  }

  private static void check(byte[][] error) {
    if (error[0] != null) {
      throw new IllegalArgumentException("Quadra: " + text(error[0]));
    }
  }

  /** key NUL value NUL …, in UTF-8. */
  private static byte[] words(Map<String, String> options) {
    StringBuilder words = new StringBuilder();
    for (Map.Entry<String, String> option : options.entrySet()) {
      words.append(option.getKey()).append('\0').append(option.getValue()).append('\0');
    }
    return words.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] utf8) {
    return new String(utf8, StandardCharsets.UTF_8);
  }

  /** Called by the native library: no exception may go through it. */
  private static void tell(VerdictListener listener, byte[] verdict) {
    try {
      listener.onVerdict(new DelegateReport.Node(new JSONObject(text(verdict))));
    } catch (Throwable thrown) {
      thrown.printStackTrace();
    }
  }

  private static native long create(byte[] words, VerdictListener listener, byte[][] error);

  static native void destroy(long handle);

  private static native byte[] report(long handle);

  private static native void readState(
      long handle, byte[] name, ByteBuffer numbers, byte[][] error);

  private static native void writeState(
      long handle, byte[] name, ByteBuffer numbers, byte[][] error);

  private static native byte[] probe(byte[] words, byte[][] error);

  /** Processor time of this process. */
  static native long cpuTimeNanos();

  /** Loads the library once, whoever comes first; the virtual machine sees to that. */
  private static final class Library {
    static final Throwable FAILURE = tryToLoad();

    private static Throwable tryToLoad() {
      try {
        System.loadLibrary(LIBRARY);
        return null;
      } catch (UnsatisfiedLinkError | SecurityException failure) {
        return failure;
      }
    }
  }
}
