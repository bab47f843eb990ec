package org.quadra.runner;

import java.io.Closeable;
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import org.quadra.gpu.GpuDelegate;
import org.quadra.gpu.GpuDelegateFactory;
import org.tensorflow.lite.Delegate;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.Tensor;

/**
 * A way to run the model: with Quadra, with a peer's delegate, or on the CPU. Started, it has run
 * once.
 */
final class Contender implements Closeable {
  static final String QUADRA = "quadra";
  static final String XNNPACK = "xnnpack";
  static final String SHIPPED_OPENCL = "shipped-opencl";
  static final String SHIPPED_GLES = "shipped-gles";

  private static final String SHIPPED_TOKEN = "model"; // each model has a folder of its own

  private static final Pattern CUSTOM_OP = Pattern.compile("unresolved custom op: (\\w+)");

  final String name;
  final JSONObject laps; // of its start, in us
  private final Delegate delegate; // null on the CPU
  private final Interpreter interpreter;
  private final Graph graph;

  private Contender(
      String name, RunSpec spec, Delegate delegate, Interpreter interpreter, JSONObject laps)
      throws RunError {
    this.name = name;
    this.delegate = delegate;
    this.interpreter = interpreter;
    this.laps = laps;
    try {
      graph = new Graph(interpreter, spec.signature);
    } catch (IllegalArgumentException error) {
      close();
      throw RunError.misuse(
          "find the signature " + spec.signature + " of the model",
          String.valueOf(error.getMessage()),
          "give a signature that it has");
    }
  }

  /** The name in files and JSON: words joined by "_". */
  static String key(String name) {
    return name.replace('-', '_');
  }

  /** The delegate with these options, the model given to it and run once. */
  static Contender startQuadra(
      RunSpec spec, File model, Map<String, String> options, List<NpyArray> inputs, Stages stages)
      throws RunError {
    return start(QUADRA, new QuadraMaker(options), spec, model, inputs, stages);
  }

  /** A peer, started the same way. {@code kept}: a folder for what it compiled; empty: none. */
  static Contender startPeer(
      String name, RunSpec spec, File model, String kept, List<NpyArray> inputs, Stages stages)
      throws RunError {
    switch (name) {
      case XNNPACK:
        return start(name, null, spec, model, inputs, stages);
      case SHIPPED_OPENCL:
        return start(name, new ShippedMaker("OPENCL", spec, kept), spec, model, inputs, stages);
      case SHIPPED_GLES:
        return start(name, new ShippedMaker("OPENGL", spec, kept), spec, model, inputs, stages);
      default:
        throw RunError.misuse(
            "start the peer " + name,
            "there is no such peer",
            "choose from " + XNNPACK + ", " + SHIPPED_OPENCL + ", " + SHIPPED_GLES);
    }
  }

  /** An interpreter whose graph the delegate has seen; nothing is run. */
  static Contender prepareQuadra(RunSpec spec, File model, Map<String, String> options)
      throws RunError {
    Delegate delegate = quadra(options);
    return new Contender(
        QUADRA, spec, delegate, interpreter(QUADRA, spec, model, delegate), new JSONObject());
  }

  /**
   * One inference with the inputs of the start; its time in ns, without copying values in and out.
   */
  long run() throws RunError {
    try {
      graph.run();
    } catch (IllegalArgumentException | IllegalStateException error) {
      throw RunError.failed("run the model on " + name, error, "see the log of the device");
    }
    return interpreter.getLastNativeInferenceDurationNanoseconds();
  }

  /** One inference with other inputs than those of the start. */
  void runOn(List<NpyArray> arrays) throws RunError {
    allocate(arrays);
    graph.setInputs(arrays);
    run();
  }

  List<NpyArray> outputs() throws RunError {
    List<NpyArray> arrays = new ArrayList<>();
    for (int i = 0; i < graph.outputCount(); i++) {
      Tensor tensor = graph.output(i);
      requireReadable(tensor);
      arrays.add(new NpyArray(tensor.dataType(), tensor.shape(), tensor.asReadOnlyBuffer()));
    }
    return arrays;
  }

  JSONArray inputFacts() throws JSONException {
    JSONArray facts = new JSONArray();
    for (int i = 0; i < graph.inputCount(); i++) {
      facts.put(facts(graph.inputName(i), graph.input(i)));
    }
    return facts;
  }

  JSONArray outputFacts() throws JSONException {
    JSONArray facts = new JSONArray();
    for (int i = 0; i < graph.outputCount(); i++) {
      facts.put(facts(graph.outputName(i), graph.output(i)));
    }
    return facts;
  }

  /** The delegate's report, as it wrote it; only Quadra has one. */
  String report() {
    return ((GpuDelegate) delegate).getReport().toJson();
  }

  /** Ready to run, with inputs of these shapes. */
  void allocate(List<NpyArray> arrays) throws RunError {
    requireFits(arrays);
    try {
      graph.allocate(arrays);
    } catch (IllegalArgumentException | IllegalStateException error) {
      throw RunError.failed("prepare the model for " + name, error, "see the log of the device");
    }
  }

  @Override
  public void close() {
    interpreter.close();
    closeDelegate(delegate);
  }

  // Classes, not lambdas: dx leaves those to Java's LambdaMetafactory, which Android does not have.
  private interface DelegateMaker {
    Delegate make() throws RunError;
  }

  private static final class QuadraMaker implements DelegateMaker {
    private final Map<String, String> options;

    QuadraMaker(Map<String, String> options) {
      this.options = options;
    }

    @Override
    public Delegate make() throws RunError {
      return quadra(options);
    }
  }

  private static final class ShippedMaker implements DelegateMaker {
    private final String backend;
    private final RunSpec spec;
    private final String kept;

    ShippedMaker(String backend, RunSpec spec, String kept) {
      this.backend = backend;
      this.spec = spec;
      this.kept = kept;
    }

    @Override
    public Delegate make() throws RunError {
      return shipped(backend, spec, kept);
    }
  }

  private static Contender start(
      String name,
      DelegateMaker maker,
      RunSpec spec,
      File model,
      List<NpyArray> inputs,
      Stages stages)
      throws RunError {
    try {
      Clock clock = new Clock();
      stages.begin(name.equals(QUADRA) ? "load the delegate" : "start " + name);
      Delegate delegate = maker == null ? null : maker.make();
      if (delegate != null) {
        clock.lap("load_delegate_us");
        stages.begin("give the model's nodes to " + name);
      }
      Interpreter interpreter = interpreter(name, spec, model, delegate);
      clock.lap("interpreter_us");
      Contender started = new Contender(name, spec, delegate, interpreter, clock.laps());
      try {
        started.firstRun(inputs, clock, stages);
      } catch (RunError | RuntimeException error) {
        started.close();
        throw error;
      }
      return started;
    } catch (JSONException error) {
      throw RunError.failed("time the start of " + name, error, "report this as a bug");
    }
  }

  private void firstRun(List<NpyArray> arrays, Clock clock, Stages stages)
      throws RunError, JSONException {
    allocate(arrays);
    clock.lap("allocate_us");
    stages.begin("first inference of " + name);
    graph.setInputs(arrays);
    run();
    clock.lap("first_invoke_us");
    clock.end();
  }

  private void requireFits(List<NpyArray> arrays) throws RunError {
    if (arrays.size() != graph.inputCount()) {
      throw RunError.misuse(
          "set the inputs",
          "the run folder has " + arrays.size() + ", the model expects " + graph.inputCount(),
          "make the folder again");
    }
    for (int i = 0; i < arrays.size(); i++) {
      if (arrays.get(i).type != graph.input(i).dataType()) {
        throw RunError.misuse(
            "set the input " + graph.inputName(i),
            "it takes "
                + graph.input(i).dataType()
                + ", the run folder has an array of "
                + arrays.get(i).type,
            "make the folder again");
      }
    }
  }

  private static Interpreter interpreter(String name, RunSpec spec, File model, Delegate delegate)
      throws RunError {
    Interpreter.Options options =
        new Interpreter.Options().setNumThreads(spec.threads).setUseXNNPACK(true);
    if (delegate != null) {
      options.addDelegate(delegate);
    }
    try {
      return new Interpreter(model, options);
    } catch (IllegalArgumentException | IllegalStateException error) {
      closeDelegate(delegate);
      throw refused("make an interpreter for " + spec.modelName + " on " + name, error);
    }
  }

  /** TFLite's sentence, or a clear one for what only the app itself could mend. */
  private static RunError refused(String tried, RuntimeException error) {
    Matcher custom = CUSTOM_OP.matcher(String.valueOf(error.getMessage()));
    if (!custom.find()) {
      return RunError.failed(tried, error, "see the log of the device");
    }
    return RunError.failed(
        tried,
        "TensorFlow Lite's runtime has no kernel for the custom op "
            + custom.group(1)
            + ", which was left to the CPU",
        "`./inv support MODEL` says why; `--on host` has kernels for MediaPipe's custom ops");
  }

  private static Delegate quadra(Map<String, String> options) throws RunError {
    GpuDelegateFactory.Options all = new GpuDelegateFactory.Options();
    for (Map.Entry<String, String> option : options.entrySet()) {
      all.set(option.getKey(), option.getValue());
    }
    try {
      return new GpuDelegate(all);
    } catch (IllegalArgumentException error) {
      throw RunError.misuse(
          "make the delegate with " + options, error.getMessage(), "see docs/options.md");
    } catch (IllegalStateException error) {
      throw RunError.failed(
          "load the delegate", error, "check that the APK has the library for this ABI");
    }
  }

  /** TensorFlow Lite's stock GPU delegate, by reflection: an app may be built without it. */
  private static Delegate shipped(String backend, RunSpec spec, String kept) throws RunError {
    String options = "org.tensorflow.lite.gpu.GpuDelegateFactory$Options";
    try {
      Class<?> optionsClass = Class.forName(options);
      Class<?> backendClass = Class.forName(options + "$GpuBackend");
      Object made = optionsClass.getConstructor().newInstance();
      Object word = backendClass.getMethod("valueOf", String.class).invoke(null, backend);
      boolean lossAllowed =
          spec.options.containsKey("precision") && !spec.options.get("precision").equals("f32");
      optionsClass.getMethod("setForceBackend", backendClass).invoke(made, word);
      if (!spec.peerDefaults) {
        optionsClass.getMethod("setPrecisionLossAllowed", boolean.class).invoke(made, lossAllowed);
      }
      if (!kept.isEmpty()) {
        optionsClass
            .getMethod("setSerializationParams", String.class, String.class)
            .invoke(made, kept, SHIPPED_TOKEN);
      }
      return (Delegate)
          Class.forName("org.tensorflow.lite.gpu.GpuDelegate")
              .getConstructor(optionsClass)
              .newInstance(made);
    } catch (ClassNotFoundException | NoClassDefFoundError error) {
      throw RunError.failed(
          "start TensorFlow Lite's stock GPU delegate",
          "this app was built without it",
          "./inv apk --peers");
    } catch (InvocationTargetException error) {
      throw RunError.failed(
          "start TensorFlow Lite's stock GPU delegate",
          error.getCause(),
          "see the log of the device");
    } catch (ReflectiveOperationException | LinkageError error) {
      throw RunError.failed(
          "start TensorFlow Lite's stock GPU delegate",
          error,
          "build the app with the version of gradle/libs.versions.toml");
    }
  }

  private static void closeDelegate(Delegate delegate) {
    if (delegate != null) {
      delegate.close();
    }
  }

  private static void requireReadable(Tensor tensor) throws RunError {
    if (NpyArray.descr(tensor.dataType()) == null) {
      throw RunError.misuse(
          "read the output " + tensor.name(),
          "its type is " + tensor.dataType(),
          "give a model with numeric outputs");
    }
  }

  private static JSONObject facts(String name, Tensor tensor) throws JSONException {
    JSONArray shape = new JSONArray();
    for (int n : tensor.shape()) {
      shape.put(n);
    }
    Tensor.QuantizationParams quantization = tensor.quantizationParams();
    JSONObject facts = new JSONObject().put("name", name);
    if (!name.equals(tensor.name())) {
      facts.put("tensor", tensor.name()); // of a signature
    }
    return facts
        .put("dtype", NpyArray.dtype(tensor.dataType()))
        .put("shape", shape)
        .put("scale", (double) quantization.getScale())
        .put("zero_point", quantization.getZeroPoint());
  }
}
