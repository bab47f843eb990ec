package org.quadra.host;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.quadra.gpu.DelegateReport;
import org.quadra.gpu.GpuDelegate;
import org.quadra.gpu.GpuDelegateFactory.Options;
import org.quadra.gpu.GpuDelegateFactory.Options.GpuBackend;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;
import org.tensorflow.lite.Interpreter;

/**
 * Tests what each option changes in the report of a model inside Android's own TFLite runtime. The
 * system property quadra.cut_model is one of a few CONV_2D, a node of the CPU, and two small nodes;
 * quadra.quantised_model is one node of int8.
 */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
@SuppressWarnings("deprecation") // of Config.manifest: a later JDK says so here, too
public class OptionsInAndroid {
  private static final String CUT = System.getProperty("quadra.cut_model");
  private static final String QUANTISED = System.getProperty("quadra.quantised_model");
  private static final String TARGET = System.getProperty("quadra.target");

  @Test
  public void aPartitionTooSmallStaysOnTheCpuWithTheEstimate() {
    DelegateReport report = report(new Options().setBackend("null"));
    assertEquals("gggggccc", places(report));
    String reason = report.getNodes().get(7).getReason();
    assertTrue(reason, reason.contains("too small") && reason.contains(" us "));
    assertEquals("gggggcgg", places(report(all())));
  }

  @Test
  public void partitionsAndNodesAreCounted() {
    assertReason(7, "max_delegated_partitions", "gggggccc", all().setMaxDelegatedPartitions(1));
    assertReason(7, "min_nodes_per_partition is 3", "gggggccc", all().setMinNodesPerPartition(3));
    assertReason(0, "only the nodes 1 to 2", "cggccccc", all().setDelegatedNodes(1, 2));
  }

  @Test
  public void quantizedModelsStayOnTheCpuWhereTheyAreForbidden() {
    Options options = all();
    assertEquals("g", places(report(options, QUANTISED, true)));
    options.setQuantizedModelsAllowed(false);
    DelegateReport report = report(options, QUANTISED, true);
    assertEquals("c", places(report));
    String reason = report.getNodes().get(0).getReason();
    assertTrue(reason, reason.contains("quantized_models_allowed is 0"));
  }

  @Test
  public void theBackendIsTheOneForced() {
    assertEquals("gles", report(new Options().setForceBackend(GpuBackend.OPENGL)).getBackend());
    assertEquals("opencl", report(new Options().setForceBackend(GpuBackend.OPENCL)).getBackend());
    assertEquals("opencl", report(new Options().setInferencePreference(1)).getBackend());
  }

  @Test
  public void librariesThatAreNotThereAreInTheNotes() {
    DelegateReport report = report(new Options().setOpenclLibrary("/nowhere/libOpenCL.so"));
    assertEquals("gles", report.getBackend());
    String notes = report.getBackendNotes().toString();
    assertTrue(notes, notes.contains("/nowhere/libOpenCL.so"));
    Options none =
        new Options().setForceBackend(GpuBackend.OPENGL).setEglLibrary("/nowhere/libEGL.so");
    report = report(none);
    assertEquals("cccccccc", places(report));
    assertTrue(report.toJson(), report.toJson().contains("/nowhere/libEGL.so"));
  }

  @Test
  public void aTargetIsWhatPlansAreMadeFor() {
    DelegateReport report = report(all().setTarget(TARGET));
    assertEquals(new File(TARGET).getName(), report.getTarget() + ".json");
  }

  @Test
  public void plansAreWrittenDownAndTensorsToo() throws IOException {
    File folder = Files.createTempDirectory("quadra").toFile();
    report(new Options().setBackend("opencl").setDumpDir(folder.toString()), CUT, true);
    File partition = new File(folder, "partition_0");
    assertTrue(new File(partition, "plan.quadra").isFile());
    assertEquals(0, tensorsIn(partition));
    Options tensors = new Options().setBackend("opencl").setDumpDir(folder.toString());
    report(tensors.setDumpTensors(true), CUT, true);
    assertTrue(tensorsIn(partition) > 1);
  }

  @Test
  public void nodesOfFloat32AreOtherNumbersInAPlan() throws IOException {
    List<Long> sizes = new ArrayList<>();
    for (String nodes : new String[] {null, "1-3"}) {
      File folder = Files.createTempDirectory("quadra").toFile();
      Options options = all().setTarget(TARGET).setPrecision("f16").setFloat32Nodes(nodes);
      DelegateReport report = report(options.setDumpDir(folder.toString()));
      assertEquals("f16", report.getPrecision());
      sizes.add(new File(folder, "partition_0/plan.quadra").length());
    }
    assertTrue(sizes.toString(), sizes.get(1) > sizes.get(0)); // weights of 4 bytes
  }

  @Test
  public void whatTakesTimeAtTheStartIsInTheReport() {
    Options options = all().setBackend("opencl").setTarget(TARGET);
    String plain = report(options, QUANTISED, true).toJson();
    assertTrue(plain, plain.contains("\"tune\":0,") && plain.contains("\"check\":0}"));
    assertTrue(plain, plain.contains("\"profile\":[]"));
    options.setTuning("fast").setSelfCheck(true).setProfile(true);
    String json = report(options, QUANTISED, true).toJson();
    assertFalse(json, json.contains("\"tune\":0,") || json.contains("\"check\":0}"));
    assertTrue(json, json.contains("\"dispatch_us\""));
  }

  private static Options all() {
    return new Options().setBackend("null").setSmallPartitionsAllowed(true);
  }

  private static int tensorsIn(File partition) {
    return partition.list((folder, name) -> name.startsWith("tensor_")).length;
  }

  private static void assertReason(int node, String words, String places, Options options) {
    DelegateReport report = report(options);
    assertEquals(places, places(report));
    String reason = report.getNodes().get(node).getReason();
    assertTrue(reason, reason.contains(words));
  }

  /** The first letter of each node's place. */
  private static String places(DelegateReport report) {
    StringBuilder places = new StringBuilder();
    for (DelegateReport.Node node : report.getNodes()) {
      places.append(node.isOnGpu() ? 'g' : 'c');
    }
    return places.toString();
  }

  private static DelegateReport report(Options options) {
    return report(options, CUT, false);
  }

  private static DelegateReport report(Options options, String model, boolean runs) {
    try (GpuDelegate delegate = new GpuDelegate(options)) {
      Interpreter.Options of = new Interpreter.Options().addDelegate(delegate);
      try (Interpreter interpreter = new Interpreter(new File(model), of)) {
        if (runs && !"null".equals(options.toMap().get("backend"))) {
          interpreter.allocateTensors();
          ByteBuffer input = ByteBuffer.allocateDirect(interpreter.getInputTensor(0).numBytes());
          ByteBuffer output = ByteBuffer.allocateDirect(interpreter.getOutputTensor(0).numBytes());
          interpreter.run(input, output);
        }
        return delegate.getReport();
      }
    }
  }
}
