package org.quadra.runner;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.tensorflow.lite.DataType;

/** An array as numpy keeps it in a .npy file: little-endian, last axis fastest. */
final class NpyArray {
  private static final byte[] MAGIC = {(byte) 0x93, 'N', 'U', 'M', 'P', 'Y'};
  private static final int PREFIX = MAGIC.length + 4; // version, length of the header
  private static final int ALIGNMENT = 64;
  private static final Pattern DESCR = Pattern.compile("'descr': *'([^']+)'");
  private static final Pattern SHAPE = Pattern.compile("'shape': *\\(([^)]*)\\)");

  final DataType type;
  final int[] shape;
  final ByteBuffer data; // direct, little-endian, from 0 to its limit

  NpyArray(DataType type, int[] shape, ByteBuffer values) {
    this.type = type;
    this.shape = shape.clone();
    ByteBuffer source = values.duplicate();
    source.rewind();
    data = ByteBuffer.allocateDirect(source.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    data.put(source);
    data.rewind();
  }

  /** The numpy word for a type; null where there is none. */
  static String descr(DataType type) {
    switch (type) {
      case FLOAT32:
        return "<f4";
      case INT32:
        return "<i4";
      case INT64:
        return "<i8";
      case INT16:
        return "<i2";
      case INT8:
        return "|i1";
      case UINT8:
        return "|u1";
      case BOOL:
        return "|b1";
      default:
        return null;
    }
  }

  /** numpy's name of the type: float32, uint8, bool, …. */
  static String dtype(DataType type) {
    return type.name().toLowerCase(Locale.ROOT);
  }

  static NpyArray parse(byte[] bytes, String where) throws RunError {
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    if (bytes.length < PREFIX
        || !Arrays.equals(Arrays.copyOf(bytes, MAGIC.length), MAGIC)
        || bytes[MAGIC.length] != 1) {
      throw damaged(where, "it is not a .npy file of version 1");
    }
    int end = PREFIX + (buffer.getShort(PREFIX - 2) & 0xffff);
    if (end > bytes.length) {
      throw damaged(where, "it ends within its header");
    }
    String header = new String(bytes, PREFIX, end - PREFIX, StandardCharsets.ISO_8859_1);
    DataType type = typeOf(header);
    int[] shape = shapeOf(header);
    if (type == null || shape == null || header.contains("'fortran_order': True")) {
      throw damaged(where, "its header is one that this runner does not read: " + header.trim());
    }
    long size = type.byteSize();
    for (int n : shape) {
      size *= n;
    }
    if (size != bytes.length - end) {
      throw damaged(where, "it holds " + (bytes.length - end) + " bytes of values, not " + size);
    }
    buffer.position(end);
    return new NpyArray(type, shape, buffer.slice());
  }

  byte[] toBytes() {
    StringBuilder words = new StringBuilder();
    for (int n : shape) {
      words.append(n).append(", ");
    }
    if (shape.length > 1) {
      words.setLength(words.length() - 2);
    } else if (shape.length == 1) {
      words.setLength(words.length() - 1);
    }
    StringBuilder header =
        new StringBuilder(
            "{'descr': '" + descr(type) + "', 'fortran_order': False, 'shape': (" + words + "), }");
    while ((PREFIX + header.length() + 1) % ALIGNMENT != 0) {
      header.append(' ');
    }
    header.append('\n');
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.write(MAGIC, 0, MAGIC.length);
    out.write(1);
    out.write(0);
    out.write(header.length() & 0xff);
    out.write(header.length() >> 8);
    byte[] text = header.toString().getBytes(StandardCharsets.ISO_8859_1);
    out.write(text, 0, text.length);
    byte[] values = new byte[data.limit()];
    ByteBuffer source = data.duplicate();
    source.rewind();
    source.get(values);
    out.write(values, 0, values.length);
    return out.toByteArray();
  }

  private static DataType typeOf(String header) {
    Matcher matcher = DESCR.matcher(header);
    if (matcher.find()) {
      for (DataType type : DataType.values()) {
        if (matcher.group(1).equals(descr(type))) {
          return type;
        }
      }
    }
    return null;
  }

  private static int[] shapeOf(String header) {
    Matcher matcher = SHAPE.matcher(header);
    if (!matcher.find()) {
      return null;
    }
    String[] words =
        matcher.group(1).trim().isEmpty() ? new String[0] : matcher.group(1).trim().split(" *, *");
    int[] shape = new int[words.length];
    try {
      for (int i = 0; i < words.length; i++) {
        shape[i] = Integer.parseInt(words[i].trim());
      }
    } catch (NumberFormatException error) {
      return null;
    }
    return shape;
  }

  private static RunError damaged(String where, String cause) {
    return RunError.misuse(
        "read the array " + where, cause, "let the toolkit make the run folder again");
  }
}
