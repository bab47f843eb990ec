package org.quadra.runner;

import static org.junit.Assert.assertArrayEquals;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.junit.Test;
import org.tensorflow.lite.DataType;

public class NpyArrayTest {
  private static NpyArray floats(int[] shape, float... values) {
    ByteBuffer buffer = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
    buffer.asFloatBuffer().put(values);
    return new NpyArray(DataType.FLOAT32, shape, buffer);
  }

  @Test
  public void whatIsWrittenIsReadAgain() throws RunError {
    int[][] shapes = {{}, {1}, {2, 3}, {1, 0, 4}};
    for (int[] shape : shapes) {
      float[] values = new float[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
      Arrays.fill(values, 1.5f);
      NpyArray array = NpyArray.parse(floats(shape, values).toBytes(), "x.npy");
      assertEquals(DataType.FLOAT32, array.type);
      assertArrayEquals(shape, array.shape);
      float[] read = new float[values.length];
      array.data.asFloatBuffer().get(read);
      assertArrayEquals(values, read, 0);
    }
  }

  @Test
  public void theHeaderIsNumpysOwn() {
    byte[] bytes = floats(new int[] {3}, 1, 2, 3).toBytes();
    assertEquals(128 + 12, bytes.length);
    String header = new String(bytes, 10, 118, StandardCharsets.ISO_8859_1);
    assertTrue(
        header, header.startsWith("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }  "));
    assertTrue(header.endsWith(" \n"));
  }

  @Test
  public void damagedFilesAreNamed() {
    byte[] good = floats(new int[] {2, 2}, 1, 2, 3, 4).toBytes();
    byte[] fortran =
        new String(good, StandardCharsets.ISO_8859_1)
            .replace("False", "True ")
            .getBytes(StandardCharsets.ISO_8859_1);
    byte[] strange =
        new String(good, StandardCharsets.ISO_8859_1)
            .replace("<f4", ">f4")
            .getBytes(StandardCharsets.ISO_8859_1);
    byte[][] damaged = {
      new byte[0],
      "hello".getBytes(),
      Arrays.copyOf(good, 60),
      Arrays.copyOf(good, good.length - 1),
      fortran,
      strange
    };
    for (byte[] bytes : damaged) {
      RunError error = assertThrows(RunError.class, () -> NpyArray.parse(bytes, "inputs/000.npy"));
      assertTrue(
          error.getMessage(), error.getMessage().startsWith("read the array inputs/000.npy: "));
      assertEquals(2, error.exitCode());
    }
  }
}
