package org.quadra.gpu;

import java.util.LinkedHashMap;
import java.util.Map;
import org.tensorflow.lite.Delegate;
import org.tensorflow.lite.DelegateFactory;
import org.tensorflow.lite.RuntimeFlavor;

/** Makes a delegate per interpreter; the interpreter closes it. */
public class GpuDelegateFactory implements DelegateFactory {
  private final Options options;

  public GpuDelegateFactory() {
    this(new Options());
  }

  public GpuDelegateFactory(Options options) {
    if (options == null) {
      throw new IllegalArgumentException(
          "Quadra: the options are null; next: leave them out for the defaults");
    }
    this.options = options;
  }

  /**
   * A delegate for the interpreter in the app.
   *
   * @throws IllegalArgumentException for the interpreter of Google Play services, which takes its
   *     own delegates only
   */
  @Override
  public Delegate create(RuntimeFlavor flavor) {
    if (flavor != RuntimeFlavor.APPLICATION) {
      throw new IllegalArgumentException(
          "Quadra: make a delegate for the interpreter "
              + flavor
              + ": it takes no delegate of an app;"
              + " next: InterpreterApi.Options.setRuntime(TfLiteRuntime.FROM_APPLICATION_ONLY)");
    }
    return new GpuDelegate(options);
  }

  /**
   * Options that are not set have the defaults of docs/options.md. Setters with the names of
   * TensorFlow Lite's GPU delegate come first, those of Quadra's own options after them; both may
   * be used, and the last one called wins.
   */
  public static class Options {
    public static final int INFERENCE_PREFERENCE_FAST_SINGLE_ANSWER = 0;
    public static final int INFERENCE_PREFERENCE_SUSTAINED_SPEED = 1;

    /** A GPU API to use and no other. */
    public enum GpuBackend {
      UNSET("auto"),
      OPENCL("opencl"),
      OPENGL("gles");

      private final String word;

      GpuBackend(String word) {
        this.word = word;
      }

      public int value() {
        return ordinal();
      }
    }

    private static final String[] PREFERENCES = {"fast_single_answer", "sustained_speed"};

    private final Map<String, String> values = new LinkedHashMap<>();
    private VerdictListener verdictListener;

    // ---- TensorFlow Lite's names ----

    /**
     * true: compute in float16 where the device can; false: in float32, and convolutions directly.
     * Unlike TensorFlow Lite's, float32 by default. A precision set before is forgotten.
     */
    public Options setPrecisionLossAllowed(boolean allowed) {
      return setPrecision(null).set("is_precision_loss_allowed", allowed ? "1" : "0");
    }

    public boolean isPrecisionLossAllowed() {
      String precision = values.get("precision");
      if (precision != null && !precision.equals("auto")) {
        return !precision.equals("f32");
      }
      return "1".equals(values.get("is_precision_loss_allowed"));
    }

    /** false leaves nodes with int8, uint8 and int16 tensors to the CPU; true by default. */
    public Options setQuantizedModelsAllowed(boolean allowed) {
      return set("quantized_models_allowed", allowed ? "1" : "0");
    }

    public boolean areQuantizedModelsAllowed() {
      return !"0".equals(values.get("quantized_models_allowed"));
    }

    /** How much start-up time may be spent on faster kernels. Both values do the same. */
    public Options setInferencePreference(int preference) {
      if (preference != INFERENCE_PREFERENCE_FAST_SINGLE_ANSWER
          && preference != INFERENCE_PREFERENCE_SUSTAINED_SPEED) {
        throw new IllegalArgumentException(
            "Quadra: setInferencePreference("
                + preference
                + "): it is neither FAST_SINGLE_ANSWER (0) nor"
                + " SUSTAINED_SPEED (1)");
      }
      return set("inference_preference", PREFERENCES[preference]);
    }

    public int getInferencePreference() {
      return PREFERENCES[INFERENCE_PREFERENCE_SUSTAINED_SPEED].equals(
              values.get("inference_preference"))
          ? INFERENCE_PREFERENCE_SUSTAINED_SPEED
          : INFERENCE_PREFERENCE_FAST_SINGLE_ANSWER;
    }

    /**
     * A folder where compiled models are kept for the next start, and how the names of this model's
     * files begin. Neither may be null; the token may be empty. A context's code cache folder fits:
     * it goes with an update of the app.
     */
    public Options setSerializationParams(String serializationDir, String modelToken) {
      if (serializationDir == null || modelToken == null) {
        throw new IllegalArgumentException(
            "Quadra: setSerializationParams: the folder or the token is null");
      }
      return set("serialization_dir", serializationDir).set("model_token", modelToken);
    }

    public String getSerializationDir() {
      return values.get("serialization_dir");
    }

    public String getModelToken() {
      return values.get("model_token");
    }

    public Options setForceBackend(GpuBackend backend) {
      return setBackend(backend == null ? null : backend.word);
    }

    public GpuBackend getForceBackend() {
      for (GpuBackend backend : GpuBackend.values()) {
        if (backend.word.equals(values.get("backend"))) {
          return backend;
        }
      }
      return GpuBackend.UNSET;
    }

    // ---- Quadra's own: with those above, all of delegate_native/delegate/options.def; null means
    // the default ----

    /** "auto", "opencl", "gles", or "null", which makes plans and runs nothing. */
    public Options setBackend(String backend) {
      return set("backend", backend);
    }

    /**
     * "f32"; "f32_f16", which stores float16 and computes in float32; "f16", float16 for both;
     * "auto": by the priorities.
     */
    public Options setPrecision(String precision) {
      return set("precision", precision);
    }

    /** JSON file of a GPU to make plans for, instead of this device's own. */
    public Options setTarget(String path) {
      return set("target", path);
    }

    /** A folder that gets graph, kernels and plan of each partition. */
    public Options setDumpDir(String folder) {
      return set("dump_dir", folder);
    }

    /** Also writes every tensor that a kernel stores into that folder. */
    public Options setDumpTensors(boolean dump) {
      return set("dump_tensors", dump ? "1" : "0");
    }

    /** Measures every dispatch; the report has the times. */
    public Options setProfile(boolean profile) {
      return set("profile", profile ? "1" : "0");
    }

    /** At most so many partitions of each subgraph, the largest first; 0: all. */
    public Options setMaxDelegatedPartitions(int count) {
      return set("max_delegated_partitions", Integer.toString(count));
    }

    /** Smaller partitions stay on the CPU. */
    public Options setMinNodesPerPartition(int count) {
      return set("min_nodes_per_partition", Integer.toString(count));
    }

    /** Keeps partitions that cost more time to reach than the CPU needs for them. */
    public Options setSmallPartitionsAllowed(boolean allowed) {
      return set("small_partitions_allowed", allowed ? "1" : "0");
    }

    /** Only these nodes may run on the GPU; both are counted in. */
    public Options setDelegatedNodes(int first, int last) {
      return set("first_delegate_node_index", Integer.toString(first))
          .set("last_delegate_node_index", Integer.toString(last));
    }

    /**
     * One to three of "max_precision", "min_latency" and "min_memory_usage", what matters most
     * first. They decide the precision where it is "auto".
     */
    public Options setInferencePriorities(String... priorities) {
      if (priorities.length < 1 || priorities.length > 3) {
        throw new IllegalArgumentException(
            "Quadra: setInferencePriorities: there are "
                + priorities.length
                + ", not one to three");
      }
      for (int i = 0; i < 3; i++) {
        set("inference_priority" + (i + 1), i < priorities.length ? priorities[i] : null);
      }
      return this;
    }

    /** Nodes that half precision leaves in float32, by their index in the verdicts: "12-14,20". */
    public Options setFloat32Nodes(String nodes) {
      return set("float32_nodes", nodes);
    }

    /**
     * "fast" or "exhaustive": tries groups of work-items at the start and keeps the fastest; "none"
     * does not.
     */
    public Options setTuning(String how) {
      return set("tuning", how);
    }

    /**
     * Looks at the first start for programs that the driver miscompiles; their nodes stay on the
     * CPU.
     */
    public Options setSelfCheck(boolean check) {
      return set("self_check", check ? "1" : "0");
    }

    /**
     * The size of the folder of setSerializationParams beyond which files go that were not used for
     * longest; 0: none goes.
     */
    public Options setCacheLimitMib(int mib) {
      return set("cache_limit_mib", Integer.toString(mib));
    }

    /**
     * Inputs that stay on the GPU, where the output that is made of them takes their place, by
     * parts of their names: "kv_cache_" for a decoder's caches, "h_in=h_out".
     */
    public Options setStates(String names) {
      return set("states", names);
    }

    /** Is told each verdict; null: nobody. */
    public Options setVerdictListener(VerdictListener listener) {
      verdictListener = listener;
      return this;
    }

    VerdictListener getVerdictListener() {
      return verdictListener;
    }

    /** OpenCL library to load instead of the device's. */
    public Options setOpenclLibrary(String path) {
      return set("opencl_library", path);
    }

    /** 0 is silent; 5 logs all. */
    public Options setDebug(int level) {
      return set("debug", Integer.toString(level));
    }

    /** EGL library to load for OpenGL ES instead of the device's. */
    public Options setEglLibrary(String path) {
      return set("egl_library", path);
    }

    /**
     * Any option by its name. Whether name and value are right is checked when a delegate is made.
     */
    public Options set(String name, String value) {
      if (name == null
          || name.isEmpty()
          || name.indexOf('\0') >= 0
          || (value != null && value.indexOf('\0') >= 0)) {
        throw new IllegalArgumentException(
            "Quadra: set an option: the name is empty, or a NUL is in it or its value");
      }
      if (value == null) {
        values.remove(name);
      } else {
        values.put(name, value);
      }
      return this;
    }

    /** The options that were set, as name and value. */
    public Map<String, String> toMap() {
      return new LinkedHashMap<>(values);
    }

    @Override
    public String toString() {
      return values.toString();
    }
  }
}
