package org.quadra.gpu;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.Collections;
import org.junit.Test;

public class DelegateReportTest {
  private static final String JSON =
      "{\"schema_version\": 1, \"version\": \"0.1.0\", \"backend\": \"gles\", \"backend_notes\":"
          + " [\"opencl: not here\"], \"precision\": \"f32\", \"target\": \"host\", \"device\":"
          + " {\"name\": \"llvmpipe\", \"vendor\": \"cpu\"}, \"nodes\": [{\"subgraph\": 0,"
          + " \"index\": 0, \"op\": \"CONV_2D\", \"name\": \"a\", \"on\": \"gpu\", \"partition\":"
          + " 0, \"reason\": \"\"}, {\"subgraph\": 1, \"index\": 4, \"op\": \"ARG_MAX\", \"name\":"
          + " \"b\", \"on\": \"cpu\", \"partition\": -1, \"reason\": \"Quadra has no ARG_MAX"
          + " yet\"}], \"partitions\": [{\"id\": 0}], \"something new\": 1}";

  @Test
  public void everyNodeHasItsVerdict() {
    DelegateReport report = new DelegateReport(JSON);
    assertEquals("0.1.0", report.getVersion());
    assertEquals("gles", report.getBackend());
    assertEquals(Collections.singletonList("opencl: not here"), report.getBackendNotes());
    assertEquals("llvmpipe", report.getDeviceName());
    assertEquals("host", report.getTarget());
    assertEquals(1, report.getPartitionCount());
    assertEquals(2, report.getNodes().size());
    DelegateReport.Node conv = report.getNodes().get(0);
    assertTrue(conv.isOnGpu());
    assertEquals(0, conv.getPartition());
    DelegateReport.Node argMax = report.getNodesOnCpu().get(0);
    assertFalse(argMax.isOnGpu());
    assertEquals(1, argMax.getSubgraph());
    assertEquals(4, argMax.getIndex());
    assertEquals("b", argMax.getName());
    assertEquals("Quadra has no ARG_MAX yet", argMax.getReason());
    assertEquals("4 ARG_MAX on the CPU: Quadra has no ARG_MAX yet", argMax.toString());
    assertEquals("1 of 2 nodes on gles (llvmpipe), f32", report.toString());
    assertEquals(JSON, report.toJson());
  }

  @Test
  public void aReportOfAnotherVersionSaysSo() {
    IllegalStateException error =
        assertThrows(IllegalStateException.class, () -> new DelegateReport("{}"));
    assertTrue(error.getMessage(), error.getMessage().contains("same version"));
  }
}
