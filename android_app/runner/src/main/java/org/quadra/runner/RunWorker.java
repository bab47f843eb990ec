package org.quadra.runner;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;
import org.quadra.gpu.ProcessClock;

/**
 * Does one run: reads spec.json and inputs/ of a run folder, leaves outputs, times, verdicts and
 * plans there, as host_tools/places/worker.py does. Each stage writes its results before the next
 * begins.
 */
final class RunWorker {
  static final String RUN = "run";
  static final String COLD = "cold";
  static final String VERDICTS = "verdicts";
  static final String DUMP = "dump";
  static final String INPUTS = "inputs";

  private static final long PAIRS_BUDGET_NANOS =
      TimeUnit.SECONDS.toNanos(20); // slow models stop early
  private static final int LEAST_PAIRS = 3;
  private static final int PROFILED_RUNS = 10;
  private static final String CPU_MODEL =
      "cpu_model.tflite"; // custom ops rewritten for those who do not know them

  private final RunFolder folder;
  private final Stages stages;
  private final Facts facts;
  private final long baselineBytes = Facts.peakRssBytes();
  private final RunSpec spec;
  private final File model;
  private final File cpuModel;
  private final List<NpyArray> inputs;
  private final JSONObject timings = new JSONObject();
  private final JSONObject tensors = new JSONObject();

  /** {@code model}: its file on this device; empty: the path of spec.json. */
  RunWorker(RunFolder folder, String model, Facts facts, Stages stages) throws RunError {
    this.folder = folder;
    this.facts = facts;
    this.stages = stages;
    spec =
        RunSpec.parse(folder.readText("spec.json"), new File(folder.path, "spec.json").getPath());
    this.model = new File(model.isEmpty() ? spec.modelPath : model);
    requireModel(this.model);
    cpuModel = folder.has(CPU_MODEL) ? new File(folder.path, CPU_MODEL) : this.model;
    inputs = folder.readArrays("inputs");
  }

  /**
   * {@code peers}: instead of spec.json's; null: those. {@code kept}: of mode cold; may be empty.
   * {@code store}: of mode inputs, the folder of the arrays that set.json names.
   */
  void work(String mode, String peers, String kept, String store) throws RunError {
    try {
      switch (mode) {
        case RUN:
          full(peers == null ? spec.peers : names(peers));
          break;
        case COLD:
          cold(peers == null ? "" : peers, kept);
          break;
        case VERDICTS:
          verdicts();
          break;
        case DUMP:
          dump();
          break;
        case INPUTS:
          inputs(peers == null ? spec.peers : names(peers), store);
          break;
        default:
          throw RunError.misuse(
              "read the argument mode",
              "'" + mode + "' is not one of run, cold, verdicts, dump, inputs",
              "omit it to run");
      }
    } catch (JSONException error) {
      throw RunError.failed("write down the run", error, "report this as a bug");
    }
  }

  /**
   * One start, with what is in the driver's cache and in {@code kept} (a folder; empty: nothing is
   * kept): cold.json.
   */
  private void cold(String peer, String kept) throws RunError, JSONException {
    Map<String, String> options = options();
    if (!kept.isEmpty()) {
      options.put("serialization_dir", kept);
    }
    try (Contender first =
        peer.isEmpty()
            ? Contender.startQuadra(spec, model, options, inputs, stages)
            : Contender.startPeer(peer, spec, cpuModel, kept, inputs, stages)) {
      JSONObject value = new JSONObject(first.laps.toString());
      folder.writeJson("cold.json", addMemory(value));
    }
  }

  /** Which nodes the delegate would run: verdicts.json. */
  private void verdicts() throws RunError {
    stages.begin("ask the delegate for its verdicts");
    try (Contender quadra = Contender.prepareQuadra(spec, model, options())) {
      folder.writeText("verdicts.json", quadra.report() + "\n");
    }
  }

  /**
   * Further inputs, one after the other: set.json names each, and the files of its arrays. What
   * comes of one is in a folder of its own in set/.
   */
  private void inputs(List<String> peers, String store) throws RunError, JSONException {
    JSONObject set = new JSONObject(folder.readText("set.json"));
    boolean anew = set.getBoolean("anew"); // for models that keep a state
    JSONArray named = set.getJSONArray("inputs");
    Map<String, Contender> started = new LinkedHashMap<>();
    try {
      for (int i = 0; i < named.length(); i++) {
        JSONObject one = named.getJSONObject(i);
        JSONArray files = one.getJSONArray("arrays");
        List<NpyArray> arrays = new ArrayList<>();
        for (int k = 0; k < files.length(); k++) {
          File file = new File(store, files.getString(k));
          arrays.add(NpyArray.parse(RunFolder.read(file), file.getPath()));
        }
        if (anew) {
          close(started);
        }
        stages.begin("input " + one.getString("name"));
        runInput(folder.inside("set/" + one.getString("name")), arrays, peers, started);
      }
    } finally {
      close(started);
    }
  }

  private void runInput(
      RunFolder into, List<NpyArray> arrays, List<String> peers, Map<String, Contender> started)
      throws RunError, JSONException {
    Contender quadra = started.get(Contender.QUADRA);
    if (quadra == null) {
      quadra = Contender.startQuadra(spec, model, options(), arrays, stages);
      started.put(Contender.QUADRA, quadra);
    } else {
      quadra.runOn(arrays);
    }
    JSONObject facts = new JSONObject().put("inputs", quadra.inputFacts());
    into.writeText("verdicts.json", quadra.report() + "\n");
    keep(into, "outputs", quadra, facts);
    if (!peers.contains(Contender.XNNPACK)) {
      return;
    }
    Contender peer = started.get(Contender.XNNPACK);
    try {
      if (peer == null) {
        peer = Contender.startPeer(Contender.XNNPACK, spec, cpuModel, "", arrays, stages);
        started.put(Contender.XNNPACK, peer);
      } else {
        peer.runOn(arrays);
      }
      keep(into, Contender.key(Contender.XNNPACK) + "_outputs", peer, facts);
    } catch (RunError error) { // the run of the first input said why
      stages.begin("without xnnpack: " + error.getMessage());
    }
  }

  private static void close(Map<String, Contender> started) {
    for (Contender contender : started.values()) {
      contender.close();
    }
    started.clear();
  }

  private static void keep(RunFolder into, String group, Contender contender, JSONObject facts)
      throws RunError, JSONException {
    into.writeArrays(group, contender.outputs());
    facts.put(group, contender.outputFacts());
    into.writeJson("tensors.json", facts);
  }

  private void full(List<String> peers) throws RunError, JSONException {
    timings.put("schema_version", RunSpec.SCHEMA_VERSION).put("threads", spec.threads);
    timings.put("init_us", new JSONObject()).put("samples_us", new JSONObject());
    String thermalBefore = facts.thermalStatus();
    List<Contender> started = new ArrayList<>();
    try {
      Contender quadra = Contender.startQuadra(spec, model, options(), inputs, stages);
      started.add(quadra);
      timings.getJSONObject("init_us").put("quadra_warm", quadra.laps);
      timings.put("memory", addMemory(new JSONObject()));
      tensors.put("inputs", quadra.inputFacts());
      keep("outputs", quadra);
      folder.writeText("verdicts.json", quadra.report() + "\n");
      for (String peer : peers) {
        startPeer(peer, started);
      }
      pairs(started);
      if (spec.sustainedSeconds > 0) {
        stages.begin("run without a pause for " + spec.sustainedSeconds + " s");
        folder.writeJson("sustained.json", Sustained.run(quadra, spec.sustainedSeconds, facts));
      }
    } finally {
      for (Contender contender : started) {
        contender.close();
      }
    }
    profileOrDump();
    stages.begin("collect device information");
    folder.writeJson("environment.json", facts.toJson(thermalBefore));
  }

  /** A peer that cannot run the model is a finding, not the end of the run. */
  private void startPeer(String name, List<Contender> started) throws RunError, JSONException {
    String key = Contender.key(name);
    Contender peer;
    try {
      peer = Contender.startPeer(name, spec, cpuModel, "", inputs, stages);
    } catch (RunError error) {
      timings.put(key + "_error", error.getMessage());
      keepTimings();
      return;
    }
    started.add(peer);
    timings.getJSONObject("init_us").put(key, peer.laps);
    keep(key + "_outputs", peer);
  }

  private void keep(String group, Contender contender) throws RunError, JSONException {
    keep(folder, group, contender, tensors);
    keepTimings();
  }

  private void keepTimings() throws RunError {
    folder.writeJson("timings.json", timings);
  }

  /** Alternated runs, the one that goes first changing too: what slows the device slows all. */
  private void pairs(List<Contender> contenders) throws RunError, JSONException {
    stages.begin("measure");
    Map<String, JSONArray> samples = new LinkedHashMap<>();
    Map<String, JSONArray> cpu = new LinkedHashMap<>();
    Map<String, JSONArray> starts = new LinkedHashMap<>();
    for (Contender contender : contenders) {
      samples.put(contender.name, new JSONArray());
      cpu.put(contender.name, new JSONArray());
      starts.put(contender.name, new JSONArray());
      for (int i = 0; i < spec.warmUp; i++) {
        contender.run();
      }
    }
    List<Contender> order = new ArrayList<>(contenders);
    long pauses = (long) spec.delayMillis * spec.repetitions * contenders.size();
    long end = System.nanoTime() + PAIRS_BUDGET_NANOS + TimeUnit.MILLISECONDS.toNanos(pauses);
    for (int round = 0; round < spec.repetitions; round++) {
      for (Contender contender : order) {
        pause(spec.delayMillis);
        long started = ProcessClock.cpuTimeNanos();
        starts.get(contender.name).put(System.nanoTime());
        samples.get(contender.name).put(Clock.micros(contender.run()));
        cpu.get(contender.name).put(Clock.micros(ProcessClock.cpuTimeNanos() - started));
      }
      Collections.reverse(order);
      if (System.nanoTime() > end && round + 1 >= LEAST_PAIRS) {
        break;
      }
    }
    timings.put("samples_us", byKey(samples)).put("cpu_us", byKey(cpu));
    timings.put("starts_ns", byKey(starts));
    keepTimings();
  }

  private static void pause(int millis) throws RunError {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException error) {
      throw RunError.failed("wait between inferences", error, "run the model again");
    }
  }

  private static List<String> names(String joined) {
    return joined.isEmpty() ? Collections.<String>emptyList() : Arrays.asList(joined.split(","));
  }

  private static JSONObject byKey(Map<String, JSONArray> samples) throws JSONException {
    JSONObject json = new JSONObject();
    for (Map.Entry<String, JSONArray> entry : samples.entrySet()) {
      json.put(Contender.key(entry.getKey()), entry.getValue());
    }
    return json;
  }

  /**
   * By a delegate of its own, because times and plans cost the driver time: profile.json,
   * partition_N/.
   */
  private void profileOrDump() throws RunError, JSONException {
    if (spec.keepTensors || !spec.profile) {
      dump();
    }
    if (!spec.profile) {
      return;
    }
    Map<String, String> more = options();
    more.put("profile", "1");
    if (!spec.keepTensors) {
      more.put("dump_dir", folder.path.getPath());
    }
    JSONArray walls = new JSONArray();
    JSONArray starts = new JSONArray();
    try (Contender quadra = Contender.startQuadra(spec, model, more, inputs, stages)) {
      stages.begin("profile each dispatch");
      for (int i = 0; i < PROFILED_RUNS; i++) {
        starts.put(System.nanoTime());
        walls.put(Clock.micros(quadra.run()));
      }
      JSONObject report = new JSONObject(quadra.report());
      JSONObject value = new JSONObject().put("schema_version", RunSpec.SCHEMA_VERSION);
      value.put("dispatch_times_by", report.optString("dispatch_times_by")).put("invoke_us", walls);
      value.put("invoke_starts_ns", starts).put("start", quadra.laps);
      value
          .put("partitions", report.getJSONArray("partitions"))
          .put("invokes", report.getJSONArray("profile"));
      folder.writeJson("profile.json", value);
    }
  }

  /** Graphs, kernels and plans, and where it is asked for the tensors: partition_N/. */
  private void dump() throws RunError {
    stages.begin("save the plan");
    Map<String, String> more = dumping();
    if (spec.keepTensors) {
      more.put("dump_tensors", "1");
    }
    if (spec.keepTensors || !spec.signature.isEmpty()) { // a signature is made ready by a run
      Contender.startQuadra(spec, model, more, inputs, stages).close();
      return;
    }
    try (Contender quadra = Contender.prepareQuadra(spec, model, more)) {
      quadra.allocate(inputs);
    }
  }

  private Map<String, String> dumping() {
    Map<String, String> more = options();
    more.put("dump_dir", folder.path.getPath());
    return more;
  }

  private Map<String, String> options() {
    Map<String, String> options = new LinkedHashMap<>(spec.options);
    String cache = options.get("serialization_dir");
    if (cache != null) {
      options.put("serialization_dir", facts.inCodeCache(cache).getPath());
    }
    return options;
  }

  private JSONObject addMemory(JSONObject value) throws JSONException {
    return value
        .put("peak_rss_bytes", Facts.peakRssBytes())
        .put("baseline_rss_bytes", baselineBytes);
  }

  private static void requireModel(File model) throws RunError {
    byte[] head = new byte[8];
    try (FileInputStream stream = new FileInputStream(model)) {
      if (stream.read(head) == head.length && new String(head, 4, 4, "ISO-8859-1").equals("TFL3")) {
        return;
      }
    } catch (IOException error) {
      throw RunError.misuse(
          "read the model " + model,
          String.valueOf(error.getMessage()),
          "push it to where the app may read it");
    }
    throw RunError.misuse(
        "read the model " + model,
        "it is not a TFLite model",
        "give a .tflite file; a damaged one: fetch it again");
  }
}
