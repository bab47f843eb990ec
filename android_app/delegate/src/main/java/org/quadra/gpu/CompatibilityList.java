package org.quadra.gpu;

import java.io.Closeable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Says whether Quadra works on this device, and with which options best. There is no list: each GPU
 * API is opened, once, when it is first asked for, which takes some tens of milliseconds. Any
 * thread may use it.
 */
public class CompatibilityList implements Closeable {
  /** The result of opening one GPU API. */
  public static final class Backend {
    private final String name;
    private final boolean works;
    private final String reason;
    private final String device;
    private final String vendor;
    private final String version;
    private final String driver;
    private final boolean computesInHalf;
    private final boolean cpu;

    private Backend(JSONObject json) throws JSONException {
      name = json.getString("name");
      works = json.getBoolean("works");
      reason = json.getString("reason");
      device = json.getString("device");
      vendor = json.getString("vendor");
      version = json.getString("version");
      driver = json.getString("driver");
      computesInHalf = json.getBoolean("half");
      cpu = json.getBoolean("cpu");
    }

    /** "opencl" or "gles". */
    public String getName() {
      return name;
    }

    public boolean isWorking() {
      return works;
    }

    /** Why it does not work; empty where it does. */
    public String getReason() {
      return reason;
    }

    public String getDevice() {
      return device;
    }

    public String getVendor() {
      return vendor;
    }

    public String getVersion() {
      return version;
    }

    public String getDriver() {
      return driver;
    }

    /** Whether it has float16 arithmetic. */
    public boolean computesInHalf() {
      return computesInHalf;
    }

    /** Whether the device is a CPU that stands in for a GPU. */
    public boolean isCpu() {
      return cpu;
    }

    @Override
    public String toString() {
      return name + ": " + (works ? device : reason);
    }
  }

  private final GpuDelegateFactory.Options options;
  private List<Backend> backends; // null: not asked yet
  private boolean closed;

  public CompatibilityList() {
    this(new GpuDelegateFactory.Options());
  }

  /** Asks the backends, and through the libraries, that these options name. */
  public CompatibilityList(GpuDelegateFactory.Options options) {
    if (options == null) {
      throw new IllegalArgumentException(
          "Quadra: the options are null; next: leave them out for the defaults");
    }
    this.options = options;
  }

  /** Whether any GPU API works; false too where the native library cannot be loaded. */
  public synchronized boolean isDelegateSupportedOnThisDevice() {
    requireOpen();
    try {
      return firstThatWorks() != null;
    } catch (IllegalStateException noLibrary) {
      return false;
    }
  }

  /**
   * The GPU API that works, where it is only one; precision loss allowed where the device computes
   * in float16. The defaults where nothing works: a model then runs on the CPU.
   */
  public synchronized GpuDelegate.Options getBestOptionsForThisDevice() {
    GpuDelegate.Options best = new GpuDelegate.Options();
    Backend first = firstThatWorks();
    if (first == null) {
      return best;
    }
    if (backends.size() > 1 && countThatWork() == 1) {
      best.setBackend(first.getName());
    }
    if (first.computesInHalf() && !first.isCpu()) {
      best.setPrecisionLossAllowed(true);
    }
    return best;
  }

  /**
   * Each GPU API that Quadra would try, in that order.
   *
   * @throws IllegalStateException where the native library cannot be loaded, or this list is closed
   */
  public synchronized List<Backend> getBackends() {
    requireOpen();
    if (backends == null) {
      backends = ask();
    }
    return backends;
  }

  /** Nothing is held between two questions; only the list itself is given up. */
  @Override
  public synchronized void close() {
    closed = true;
    backends = null;
  }

  private Backend firstThatWorks() {
    for (Backend backend : getBackends()) {
      if (backend.isWorking()) {
        return backend;
      }
    }
    return null;
  }

  private int countThatWork() {
    int count = 0;
    for (Backend backend : backends) {
      count += backend.isWorking() ? 1 : 0;
    }
    return count;
  }

  private List<Backend> ask() {
    try {
      JSONArray answers =
          new JSONObject(QuadraNative.probe(options.toMap())).getJSONArray("backends");
      List<Backend> found = new ArrayList<>();
      for (int i = 0; i < answers.length(); i++) {
        found.add(new Backend(answers.getJSONObject(i)));
      }
      return Collections.unmodifiableList(found);
    } catch (JSONException error) {
      throw new IllegalStateException(
          "Quadra: ask this device for its GPU APIs: "
              + error.getMessage()
              + "; next: see that libquadra.so is of the same version as its Java classes",
          error);
    }
  }

  private void requireOpen() {
    if (closed) {
      throw new IllegalStateException(
          "Quadra: ask a CompatibilityList: it is closed; next: make a new one");
    }
  }
}
