package org.quadra.gpu;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.Test;
import org.quadra.gpu.GpuDelegateFactory.Options;
import org.tensorflow.lite.Delegate;
import org.tensorflow.lite.RuntimeFlavor;

/** Needs the native library, and no interpreter. */
public class GpuDelegateTest {
  private static final int CYCLES = 1000;
  private static final long MAY_GROW_BYTES = 8L << 20;

  @Test
  public void aDelegateHasAHandleAndAReportUntilItIsClosed() {
    GpuDelegate delegate = new GpuDelegate();
    assertNotEquals(0, delegate.getNativeHandle());
    assertFalse(delegate.isClosed());
    DelegateReport report = delegate.getReport();
    assertEquals("none", report.getBackend());
    assertEquals("f32", report.getPrecision());
    assertTrue(report.getNodes().isEmpty());
    delegate.close();
    assertTrue(delegate.isClosed());
  }

  @Test
  public void afterCloseEveryCallIsRefusedWithASentence() {
    GpuDelegate delegate = new GpuDelegate();
    delegate.close();
    IllegalStateException handle =
        assertThrows(IllegalStateException.class, delegate::getNativeHandle);
    IllegalStateException report = assertThrows(IllegalStateException.class, delegate::getReport);
    assertTrue(handle.getMessage(), handle.getMessage().contains("this delegate is closed; next:"));
    assertTrue(report.getMessage(), report.getMessage().contains("this delegate is closed; next:"));
    assertThrows(IllegalStateException.class, delegate::clearStates);
    delegate.close(); // again: nothing happens
  }

  @Test
  public void statesThatAreNotThereAreRefusedWithASentence() {
    ByteBuffer direct = ByteBuffer.allocateDirect(16), onHeap = ByteBuffer.allocate(16);
    try (GpuDelegate delegate = new GpuDelegate(new Options().setStates("kv_cache_"))) {
      for (String[] tried : new String[][] {{"kv_cache_k", "no state"}, {"\u00e4", "no state"}}) {
        IllegalArgumentException error =
            assertThrows(
                IllegalArgumentException.class, () -> delegate.readState(tried[0], direct));
        assertTrue(error.getMessage(), error.getMessage().contains(tried[1]));
        assertThrows(IllegalArgumentException.class, () -> delegate.writeState(tried[0], direct));
      }
      assertThrows(IllegalArgumentException.class, () -> delegate.readState("kv_cache_k", onHeap));
      assertThrows(IllegalArgumentException.class, () -> delegate.writeState("kv_cache_k", null));
      assertThrows(IllegalArgumentException.class, () -> delegate.writeState(null, direct));
      assertThrows(
          IllegalArgumentException.class,
          () -> delegate.readState("kv_cache_k", direct.asReadOnlyBuffer()));
      delegate.clearStates(); // there are none
    }
  }

  @Test
  public void optionsReachTheNativeLibrary() {
    try (GpuDelegate delegate = new GpuDelegate(new Options().setPrecisionLossAllowed(true))) {
      assertEquals("f16", delegate.getReport().getPrecision());
    }
  }

  @Test
  public void prioritiesDecideThePrecision() {
    String[][] cases = {
      {"f32", "max_precision"},
      {"f32", "max_precision", "min_memory_usage", "min_latency"},
      {"f16", "min_latency"},
      {"f16", "min_latency", "min_memory_usage", "max_precision"},
      {"f32_f16", "min_latency", "max_precision"},
      {"f32_f16", "min_memory_usage"},
    };
    for (String[] words : cases) {
      Options options = new Options();
      options.setInferencePriorities(java.util.Arrays.copyOfRange(words, 1, words.length));
      try (GpuDelegate delegate = new GpuDelegate(options)) {
        assertEquals(options.toString(), words[0], delegate.getReport().getPrecision());
      }
      try (GpuDelegate delegate = new GpuDelegate(options.setPrecision("f32"))) {
        assertEquals("f32", delegate.getReport().getPrecision());
      }
    }
  }

  @Test
  public void optionsThatContradictEachOtherAreNamed() {
    Options[] wrong = {
      new Options().setInferencePriorities("min_latency", "min_latency"),
      new Options().setInferencePriorities("auto"),
      new Options().setDelegatedNodes(3, 2),
      new Options().set("model_token", "v1"),
      new Options().setSerializationParams("/cache", "a/b"),
      new Options().set("experimental_flags", "6"),
    };
    String[] named = {
      "inference_priority2", "inference_priority1", "first_delegate_node_index",
      "model_token", "model_token", "experimental_flags"
    };
    for (int i = 0; i < wrong.length; i++) {
      Options options = wrong[i];
      IllegalArgumentException error =
          assertThrows(IllegalArgumentException.class, () -> new GpuDelegate(options));
      assertTrue(error.getMessage(), error.getMessage().contains("option " + named[i]));
    }
  }

  @Test
  public void aWrongOptionIsNamed() {
    IllegalArgumentException value =
        assertThrows(
            IllegalArgumentException.class,
            () -> new GpuDelegate(new Options().setPrecision("f64")));
    assertTrue(
        value.getMessage(),
        value.getMessage().contains("precision=f64: the value must be auto|f32|f32_f16|f16"));
    IllegalArgumentException name =
        assertThrows(
            IllegalArgumentException.class, () -> new GpuDelegate(new Options().set("speed", "9")));
    assertTrue(name.getMessage(), name.getMessage().contains("there is no option 'speed'"));
    assertThrows(
        IllegalArgumentException.class,
        () -> new GpuDelegate(new Options().setMaxDelegatedPartitions(-1)));
    assertThrows(IllegalArgumentException.class, () -> new GpuDelegate(new Options().setDebug(6)));
  }

  @Test
  public void aBadValueOfEachOptionIsNamed() {
    String[] names = {
      "backend",
      "precision",
      "profile",
      "max_delegated_partitions",
      "debug",
      "quantized_models_allowed",
      "dump_tensors",
      "is_precision_loss_allowed",
      "inference_preference",
      "inference_priority1",
      "inference_priority2",
      "inference_priority3",
      "min_nodes_per_partition",
      "small_partitions_allowed",
      "first_delegate_node_index",
      "last_delegate_node_index",
      "float32_nodes",
      "tuning",
      "self_check",
    };
    for (String name : names) {
      Options options = new Options().set(name, "wrong");
      IllegalArgumentException error =
          assertThrows(name, IllegalArgumentException.class, () -> new GpuDelegate(options));
      String said = "option " + name + "=wrong: the value must be ";
      assertTrue(error.getMessage(), error.getMessage().contains(said));
    }
  }

  @Test
  public void textOfAllAlphabetsCrossesTheBorder() {
    String word = "Ж 漢字 🦊";
    IllegalArgumentException error =
        assertThrows(
            IllegalArgumentException.class, () -> new GpuDelegate(new Options().setBackend(word)));
    assertTrue(error.getMessage(), error.getMessage().contains("backend=" + word + ":"));
  }

  @Test
  public void aFactoryMakesDelegatesForTheInterpreterOfTheAppOnly() throws IOException {
    GpuDelegateFactory factory = new GpuDelegateFactory(new Options().setPrecision("f32_f16"));
    try (Delegate first = factory.create(RuntimeFlavor.APPLICATION);
        Delegate second = factory.create(RuntimeFlavor.APPLICATION)) {
      assertNotEquals(first.getNativeHandle(), second.getNativeHandle());
      assertEquals("f32_f16", ((GpuDelegate) first).getReport().getPrecision());
    }
    IllegalArgumentException error =
        assertThrows(IllegalArgumentException.class, () -> factory.create(RuntimeFlavor.SYSTEM));
    assertTrue(error.getMessage(), error.getMessage().contains("FROM_APPLICATION_ONLY"));
  }

  @Test
  public void aThousandDelegatesLeaveNothingBehind() throws IOException {
    openAndClose(CYCLES); // what is made once is made
    long before = residentBytes();
    openAndClose(CYCLES);
    long grown = residentBytes() - before;
    assertTrue("grew by " + grown + " bytes", grown < MAY_GROW_BYTES);
  }

  @Test
  public void threadsMayOpenAndCloseAtOnce() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    List<Future<?>> done = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      done.add(threads.submit(() -> openAndClose(CYCLES / 4)));
    }
    for (Future<?> one : done) {
      one.get(60, TimeUnit.SECONDS);
    }
    threads.shutdown();
  }

  @Test
  public void closingInOneThreadIsARefusalInTheOthers() throws Exception {
    for (int round = 0; round < 50; round++) {
      GpuDelegate delegate = new GpuDelegate();
      CountDownLatch start = new CountDownLatch(1);
      AtomicInteger refused = new AtomicInteger();
      Thread reader =
          new Thread(
              () -> {
                try {
                  start.await();
                  for (int i = 0; i < 1000; i++) {
                    delegate.getReport();
                  }
                } catch (IllegalStateException | InterruptedException closed) {
                  refused.incrementAndGet();
                }
              });
      reader.start();
      start.countDown();
      delegate.close();
      reader.join();
      assertEquals(1, refused.get());
    }
  }

  private static void openAndClose(int times) {
    for (int i = 0; i < times; i++) {
      try (GpuDelegate delegate = new GpuDelegate()) {
        assertEquals("none", delegate.getReport().getBackend());
      }
    }
  }

  private static long residentBytes() throws IOException {
    System.gc();
    String pages = new String(Files.readAllBytes(Paths.get("/proc/self/statm"))).split(" ")[1];
    return Long.parseLong(pages) * 4096;
  }
}
