package org.quadra.gpu;

import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

/** Runs where there is no libquadra.so for this ABI. */
public class WithoutLibraryTest {
  @Test
  public void aDelegateCannotBeMadeAndTheSentenceSaysWhy() {
    IllegalStateException error = assertThrows(IllegalStateException.class, GpuDelegate::new);
    assertTrue(error.getMessage(), error.getMessage().startsWith("Quadra: load libquadra.so: "));
    assertTrue(error.getMessage(), error.getMessage().contains("; next: "));
    assertThrows("the second time too", IllegalStateException.class, GpuDelegate::new);
  }

  @Test
  public void theDeviceIsNotSupported() {
    try (CompatibilityList list = new CompatibilityList()) {
      assertFalse(list.isDelegateSupportedOnThisDevice());
      assertThrows(IllegalStateException.class, list::getBackends);
    }
  }
}
