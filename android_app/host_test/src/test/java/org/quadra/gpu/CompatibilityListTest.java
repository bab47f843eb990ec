package org.quadra.gpu;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.util.List;
import org.junit.Test;
import org.quadra.gpu.GpuDelegateFactory.Options;

/** Needs the native library, and this machine's OpenCL and OpenGL ES. */
public class CompatibilityListTest {
  @Test
  public void itAsksTheDeviceItself() {
    try (CompatibilityList list = new CompatibilityList()) {
      List<CompatibilityList.Backend> backends = list.getBackends();
      assertEquals(2, backends.size());
      for (CompatibilityList.Backend backend : backends) {
        assertTrue(backend.toString(), backend.isWorking());
        assertFalse(backend.getDevice().isEmpty());
        assertFalse(backend.getVersion().isEmpty());
        assertTrue(backend.getReason().isEmpty());
      }
      assertEquals("opencl", backends.get(0).getName());
      assertEquals("gles", backends.get(1).getName());
      assertTrue(list.isDelegateSupportedOnThisDevice());
      assertSame("asked once", backends, list.getBackends());
    }
  }

  @Test
  public void whereOneApiIsMissingTheOtherIsBest() {
    Options options = new Options().setOpenclLibrary("/nowhere/libOpenCL.so");
    try (CompatibilityList list = new CompatibilityList(options)) {
      CompatibilityList.Backend opencl = list.getBackends().get(0);
      assertFalse(opencl.isWorking());
      assertTrue(opencl.getReason(), opencl.getReason().contains("/nowhere/libOpenCL.so"));
      assertTrue(list.isDelegateSupportedOnThisDevice());
      assertEquals("gles", list.getBestOptionsForThisDevice().toMap().get("backend"));
    }
  }

  @Test
  public void whereNothingWorksTheDeviceIsNotSupported() {
    Options options =
        new Options().setOpenclLibrary("/nowhere/a.so").setEglLibrary("/nowhere/b.so");
    try (CompatibilityList list = new CompatibilityList(options)) {
      assertFalse(list.isDelegateSupportedOnThisDevice());
      assertTrue(list.getBestOptionsForThisDevice().toMap().isEmpty());
    }
  }

  @Test
  public void theBestOptionsMakeADelegate() {
    try (CompatibilityList list = new CompatibilityList();
        GpuDelegate delegate = new GpuDelegate(list.getBestOptionsForThisDevice())) {
      assertFalse(delegate.isClosed());
    }
  }

  @Test
  public void aWrongOptionIsNamed() {
    try (CompatibilityList list = new CompatibilityList(new Options().setBackend("vulkan"))) {
      assertThrows(IllegalArgumentException.class, list::getBackends);
    }
  }

  @Test
  public void afterCloseEveryCallIsRefused() {
    CompatibilityList list = new CompatibilityList();
    list.close();
    list.close();
    assertThrows(IllegalStateException.class, list::getBackends);
    assertThrows(IllegalStateException.class, list::isDelegateSupportedOnThisDevice);
    assertThrows(IllegalStateException.class, list::getBestOptionsForThisDevice);
  }
}
