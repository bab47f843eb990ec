package org.quadra.gpu;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import org.junit.Test;
import org.quadra.gpu.GpuDelegateFactory.Options;
import org.quadra.gpu.GpuDelegateFactory.Options.GpuBackend;

public class OptionsTest {
  @Test
  public void nothingIsSetAtFirst() {
    Options options = new Options();
    assertTrue(options.toMap().isEmpty());
    assertFalse(options.isPrecisionLossAllowed());
    assertTrue(options.areQuantizedModelsAllowed());
    assertEquals(Options.INFERENCE_PREFERENCE_FAST_SINGLE_ANSWER, options.getInferencePreference());
    assertEquals(GpuBackend.UNSET, options.getForceBackend());
    assertNull(options.getSerializationDir());
    assertNull(options.getModelToken());
  }

  @Test
  public void precisionLossMeansFloat16() {
    Options options = new Options().setPrecisionLossAllowed(true);
    assertEquals("{is_precision_loss_allowed=1}", options.toString());
    assertTrue(options.isPrecisionLossAllowed());
    assertFalse(options.setPrecision("f32").isPrecisionLossAllowed());
    assertTrue(options.setPrecision("auto").isPrecisionLossAllowed());
    assertTrue(options.setPrecision("f32_f16").isPrecisionLossAllowed());
    assertFalse(options.setPrecisionLossAllowed(false).isPrecisionLossAllowed());
    assertEquals("{is_precision_loss_allowed=0}", options.toString()); // the last one called wins
    assertFalse(new Options().setPrecision("auto").isPrecisionLossAllowed());
  }

  @Test
  public void aForcedBackendIsTheOptionBackend() {
    Options options = new Options();
    assertEquals("opencl", options.setForceBackend(GpuBackend.OPENCL).toMap().get("backend"));
    assertEquals("gles", options.setForceBackend(GpuBackend.OPENGL).toMap().get("backend"));
    assertEquals(GpuBackend.OPENGL, options.getForceBackend());
    assertEquals("auto", options.setForceBackend(GpuBackend.UNSET).toMap().get("backend"));
    assertEquals(GpuBackend.UNSET, options.setForceBackend(null).getForceBackend());
    assertEquals(GpuBackend.UNSET, options.setBackend("null").getForceBackend());
    assertEquals(2, GpuBackend.OPENGL.value());
  }

  @Test
  public void preferenceAndSerializationAreOptions() {
    Options options = new Options();
    options
        .setInferencePreference(Options.INFERENCE_PREFERENCE_SUSTAINED_SPEED)
        .setSerializationParams("/cache", "v1");
    assertEquals(Options.INFERENCE_PREFERENCE_SUSTAINED_SPEED, options.getInferencePreference());
    assertEquals("/cache", options.getSerializationDir());
    assertEquals("v1", options.getModelToken());
    assertEquals(
        "{inference_preference=sustained_speed, serialization_dir=/cache, model_token=v1}",
        options.toString());
  }

  @Test
  public void prioritiesAreWordsInOrder() {
    Options options = new Options().setInferencePriorities("min_latency", "max_precision");
    assertEquals(
        "{inference_priority1=min_latency, inference_priority2=max_precision}", options.toString());
    assertEquals(
        "{inference_priority1=max_precision}",
        options.setInferencePriorities("max_precision").toString());
    assertThrows(IllegalArgumentException.class, options::setInferencePriorities);
    assertThrows(
        IllegalArgumentException.class, () -> options.setInferencePriorities("a", "b", "c", "d"));
  }

  @Test
  public void partitionsAreChosenByNumbers() {
    Options options =
        new Options()
            .setMinNodesPerPartition(4)
            .setSmallPartitionsAllowed(true)
            .setDelegatedNodes(2, 9);
    assertEquals(
        "{min_nodes_per_partition=4, small_partitions_allowed=1, first_delegate_node_index=2,"
            + " last_delegate_node_index=9}",
        options.toString());
  }

  @Test
  public void quantizedModelsAreAllowedUntilForbidden() {
    Options options = new Options();
    assertTrue(options.areQuantizedModelsAllowed());
    assertFalse(options.setQuantizedModelsAllowed(false).areQuantizedModelsAllowed());
    assertEquals("{quantized_models_allowed=0}", options.toString());
    assertTrue(options.setQuantizedModelsAllowed(true).areQuantizedModelsAllowed());
  }

  @Test
  public void valuesAreWordsOfTheTable() {
    Options options =
        new GpuDelegate.Options()
            .setProfile(true)
            .setMaxDelegatedPartitions(3)
            .setDebug(2)
            .setSelfCheck(true)
            .setDumpDir("/d");
    assertEquals(
        "{profile=1, max_delegated_partitions=3, debug=2, self_check=1, dump_dir=/d}",
        options.toString());
    assertEquals(
        "{profile=0, max_delegated_partitions=3, debug=2, self_check=1}",
        options.setProfile(false).setDumpDir(null).toString());
  }

  @Test
  public void impossibleValuesAreRefusedAtOnce() {
    Options options = new Options();
    assertThrows(IllegalArgumentException.class, () -> options.setInferencePreference(7));
    assertThrows(
        IllegalArgumentException.class, () -> options.setSerializationParams(null, "token"));
    assertThrows(
        IllegalArgumentException.class, () -> options.setSerializationParams("folder", null));
    assertThrows(IllegalArgumentException.class, () -> options.set(null, "x"));
    assertThrows(IllegalArgumentException.class, () -> options.set("", "x"));
    assertThrows(IllegalArgumentException.class, () -> options.setTarget("a\0b"));
    assertThrows(IllegalArgumentException.class, () -> new GpuDelegate(null));
    assertThrows(IllegalArgumentException.class, () -> new GpuDelegateFactory(null));
    assertThrows(IllegalArgumentException.class, () -> new CompatibilityList(null));
  }

  @Test
  public void theMapIsACopy() {
    Options options = new Options();
    options.toMap().put("backend", "gles");
    assertTrue(options.toMap().isEmpty());
  }
}
