package org.quadra.host;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.Test;
import org.junit.runner.RunWith;
import org.quadra.gpu.CompatibilityList;
import org.quadra.gpu.DelegateReport;
import org.quadra.gpu.GpuDelegate;
import org.quadra.gpu.GpuDelegateFactory;
import org.robolectric.RobolectricTestRunner;
import org.robolectric.annotation.Config;
import org.tensorflow.lite.Interpreter;
import org.tensorflow.lite.InterpreterApi;

/**
 * The delegate inside Android's own TFLite runtime, through its Java API. The system property
 * quadra.model is a small model whose nodes all run on the GPU.
 */
@RunWith(RobolectricTestRunner.class)
@Config(sdk = 34, manifest = Config.NONE)
@SuppressWarnings("deprecation") // of Config.manifest: a later JDK says so here, too
public class DelegateInAndroid {
  private static final int CYCLES = 1000;
  private static final int CYCLES_BEFORE = 100; // until everything has been used once
  private static final long MAY_GROW_BYTES = 16L << 20;
  private static final float TOLERANCE = 1e-4f;

  private final File model = new File(System.getProperty("quadra.model"));

  @Test
  public void bothBackendsGiveTheCpusAnswer() {
    float[] expected = runOnCpu();
    for (String backend : new String[] {"opencl", "gles"}) {
      try (GpuDelegate delegate = new GpuDelegate(options(backend))) {
        assertArrayEquals(expected, run(delegate), TOLERANCE);
        DelegateReport report = delegate.getReport();
        assertEquals(backend, report.getBackend());
        assertTrue(report.toString(), report.getNodesOnCpu().isEmpty());
      }
    }
  }

  @Test
  public void theSecondDelegateFindsWhatTheFirstCompiled() throws IOException {
    for (String backend : new String[] {"opencl", "gles"}) {
      String folder = Files.createTempDirectory("quadra").toString();
      GpuDelegateFactory.Options options =
          options(backend).setSerializationParams(folder, "a_model");
      List<float[]> answers = new ArrayList<>();
      for (String said : new String[] {"\"miss: none is kept; saved\"", "\"hit\""}) {
        try (GpuDelegate delegate = new GpuDelegate(options)) {
          answers.add(run(delegate));
          String report = delegate.getReport().toJson();
          assertTrue(report, report.contains("\"cache\":" + said));
        }
      }
      assertArrayEquals(answers.get(0), answers.get(1), 0);
      assertTrue(new File(folder).list()[0].startsWith("a_model_"));
    }
  }

  @Test
  public void aListenerHearsEveryVerdict() {
    List<String> heard = new ArrayList<>();
    GpuDelegateFactory.Options options =
        options("opencl").setVerdictListener(node -> heard.add(node.toString()));
    try (GpuDelegate delegate = new GpuDelegate(options)) {
      run(delegate);
      List<String> reported = new ArrayList<>();
      for (DelegateReport.Node node : delegate.getReport().getNodes()) {
        reported.add(node.toString());
      }
      assertFalse(reported.isEmpty());
      assertEquals(reported, heard);
    }
  }

  @Test
  public void aListenerThatThrowsChangesNothing() {
    GpuDelegateFactory.Options options =
        options("opencl")
            .setVerdictListener(
                node -> {
                  throw new IllegalStateException("thrown by a listener, on purpose");
                });
    try (GpuDelegate delegate = new GpuDelegate(options)) {
      assertArrayEquals(runOnCpu(), run(delegate), TOLERANCE);
    }
  }

  @Test
  public void thisDeviceIsAskedAndItsBestOptionsWork() {
    try (CompatibilityList list = new CompatibilityList()) {
      assertTrue(list.isDelegateSupportedOnThisDevice());
      assertEquals(2, list.getBackends().size());
      try (GpuDelegate delegate = new GpuDelegate(list.getBestOptionsForThisDevice())) {
        assertArrayEquals(runOnCpu(), run(delegate), TOLERANCE);
      }
    }
  }

  @Test
  public void anInterpreterMakesAndClosesADelegateOfAFactory() {
    InterpreterApi.Options options = new InterpreterApi.Options();
    options.addDelegateFactory(new GpuDelegateFactory(options("opencl")));
    options.setRuntime(InterpreterApi.Options.TfLiteRuntime.FROM_APPLICATION_ONLY);
    try (InterpreterApi interpreter = InterpreterApi.create(model, options)) {
      assertArrayEquals(runOnCpu(), run(interpreter), TOLERANCE);
    }
  }

  @Test
  public void interpretersOfManyThreadsGetTheSameAnswer() throws Exception {
    float[] expected = runOnCpu();
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<float[]>> answers = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      String backend = i % 2 == 0 ? "opencl" : "gles";
      Callable<float[]> task =
          () -> {
            try (GpuDelegate delegate = new GpuDelegate(options(backend))) {
              return run(delegate);
            }
          };
      answers.add(threads.submit(task));
    }
    for (Future<float[]> answer : answers) {
      assertArrayEquals(expected, answer.get(), TOLERANCE);
    }
    threads.shutdown();
  }

  @Test
  public void anInterpreterMayRunInAnotherThreadThanTheOneThatMadeIt() throws Exception {
    try (GpuDelegate delegate = new GpuDelegate(options("gles"));
        Interpreter interpreter = interpreter(delegate)) {
      float[][] answer = new float[1][];
      Thread other = new Thread(() -> answer[0] = run(interpreter));
      other.start();
      other.join();
      assertArrayEquals(runOnCpu(), answer[0], TOLERANCE);
    }
  }

  @Test
  public void aThousandInterpretersLeakNothingOnOpenCl() throws IOException {
    openAndClose("opencl");
  }

  @Test
  public void aThousandInterpretersLeakNothingOnOpenGlEs() throws IOException {
    openAndClose("gles");
  }

  @Test
  public void aClosedDelegateIsRefusedByASentence() {
    GpuDelegate delegate = new GpuDelegate();
    delegate.close();
    Exception error = assertThrows(IllegalStateException.class, () -> interpreter(delegate));
    assertTrue(error.getMessage(), error.getMessage().contains("this delegate is closed; next:"));
  }

  @Test
  public void aDamagedModelIsAnErrorAndTheDelegateLivesOn() throws IOException {
    byte[] content = Files.readAllBytes(model.toPath());
    File damaged = File.createTempFile("damaged", ".tflite");
    Files.write(damaged.toPath(), Arrays.copyOf(content, content.length / 2));
    try (GpuDelegate delegate = new GpuDelegate()) {
      Interpreter.Options options = new Interpreter.Options().addDelegate(delegate);
      assertThrows(IllegalArgumentException.class, () -> new Interpreter(damaged, options).close());
      assertArrayEquals(runOnCpu(), run(delegate), TOLERANCE);
    } finally {
      assertTrue(damaged.delete());
    }
  }

  @Test
  public void anotherShapeIsPlannedAnew() {
    try (GpuDelegate delegate = new GpuDelegate(options("opencl"));
        Interpreter interpreter = interpreter(delegate)) {
      float[] small = run(interpreter);
      int[] shape = interpreter.getInputTensor(0).shape();
      shape[1] *= 2;
      interpreter.resizeInput(0, shape);
      interpreter.allocateTensors();
      assertEquals(2 * small.length, run(interpreter).length);
      assertFalse(delegate.getReport().getNodes().isEmpty());
    }
  }

  private void openAndClose(String backend) throws IOException {
    float[] expected = runOnCpu();
    long bytes = 0;
    int threads = 0;
    int files = 0;
    for (int i = 0; i < CYCLES_BEFORE + CYCLES; i++) {
      if (i == CYCLES_BEFORE) {
        bytes = residentBytes();
        threads = entries("/proc/self/task");
        files = entries("/proc/self/fd");
      }
      try (GpuDelegate delegate = new GpuDelegate(options(backend))) {
        assertArrayEquals(expected, run(delegate), TOLERANCE);
      }
    }
    assertTrue(entries("/proc/self/task") <= threads + 2); // the JVM has some of its own
    assertTrue(entries("/proc/self/fd") <= files + 2);
    long grown = residentBytes() - bytes;
    assertTrue("grown by " + grown + " bytes", grown < MAY_GROW_BYTES);
  }

  /** The model quadra.states computes y = x + h_in, and the same again as h_out. */
  @Test
  public void aStateStaysOnTheGpuAndIsReadWrittenAndCleared() {
    File stateful = new File(System.getProperty("quadra.states"));
    for (String backend : new String[] {"opencl", "gles"}) {
      GpuDelegateFactory.Options given = options(backend).setStates("h_in=h_out");
      try (GpuDelegate delegate = new GpuDelegate(given);
          Interpreter interpreter =
              new Interpreter(stateful, new Interpreter.Options().addDelegate(delegate))) {
        assertEquals(1f, step(interpreter, 1), 0f);
        assertEquals(3f, step(interpreter, 2), 0f);
        int bytes = interpreter.getInputTensor(1).numBytes();
        ByteBuffer numbers = buffer(bytes + 4);
        numbers.position(4);
        delegate.readState("h_in", numbers);
        assertEquals(3f, numbers.getFloat(4), 0f);
        assertEquals(3f, numbers.getFloat(bytes), 0f);
        while (numbers.hasRemaining()) {
          numbers.putFloat(10);
        }
        numbers.position(4);
        delegate.writeState("h_in", numbers);
        assertEquals(15f, step(interpreter, 5), 0f);
        delegate.clearStates();
        assertEquals(7f, step(interpreter, 7), 0f);
        numbers.position(0);
        IllegalArgumentException error =
            assertThrows(IllegalArgumentException.class, () -> delegate.readState("h_in", numbers));
        assertTrue(error.getMessage(), error.getMessage().contains("it has " + bytes + " bytes"));
      }
    }
  }

  /** The first number of y where all of x are this one, and the interpreter's h_in is a hundred. */
  private static float step(Interpreter interpreter, float x) {
    ByteBuffer[] buffers = new ByteBuffer[4];
    for (int i = 0; i < 4; i++) {
      int bytes =
          i < 2
              ? interpreter.getInputTensor(i).numBytes()
              : interpreter.getOutputTensor(i - 2).numBytes();
      buffers[i] = buffer(bytes);
      while (buffers[i].hasRemaining()) {
        buffers[i].putFloat(i == 0 ? x : 100);
      }
      buffers[i].rewind();
    }
    Map<Integer, Object> outputs = new HashMap<>();
    outputs.put(0, buffers[2]);
    outputs.put(1, buffers[3]);
    interpreter.runForMultipleInputsOutputs(new Object[] {buffers[0], buffers[1]}, outputs);
    return buffers[2].getFloat(0);
  }

  private static GpuDelegateFactory.Options options(String backend) {
    return new GpuDelegateFactory.Options().setBackend(backend);
  }

  private Interpreter interpreter(GpuDelegate delegate) {
    return new Interpreter(model, new Interpreter.Options().addDelegate(delegate));
  }

  private float[] run(GpuDelegate delegate) {
    try (Interpreter interpreter = interpreter(delegate)) {
      return run(interpreter);
    }
  }

  private float[] runOnCpu() {
    try (Interpreter interpreter =
        new Interpreter(model, new Interpreter.Options().setUseXNNPACK(false))) {
      return run(interpreter);
    }
  }

  /** The first output for an input that is always the same. */
  private static float[] run(InterpreterApi interpreter) {
    ByteBuffer input = buffer(interpreter.getInputTensor(0).numBytes());
    Random random = new Random(1);
    while (input.hasRemaining()) {
      input.putFloat(random.nextFloat() * 2 - 1);
    }
    input.rewind();
    interpreter.allocateTensors();
    ByteBuffer output = buffer(interpreter.getOutputTensor(0).numBytes());
    interpreter.run(input, output);
    output.rewind();
    float[] values = new float[output.capacity() / 4];
    output.asFloatBuffer().get(values);
    return values;
  }

  private static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  private static long residentBytes() throws IOException {
    System.gc(); // direct buffers live until their owners are collected
    String[] words = new String(Files.readAllBytes(Paths.get("/proc/self/statm"))).split(" ");
    return Long.parseLong(words[1]) * 4096;
  }

  private static int entries(String folder) {
    return new File(folder).list().length;
  }
}
